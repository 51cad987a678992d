//! The table `[routes]`: which topics lead to which destinations.

use super::{
    error::ConfigError,
    nearest,
    section::{Field, Section},
};
use crate::{TopicPattern, destination::Routes};

pub(super) fn routes(section: Option<Section<'_, '_>>, mut routes: Routes) -> Result<Routes, ConfigError> {
    let Some(section) = section else {
        return Ok(routes);
    };
    for (text, field) in section.fields() {
        if field.value.as_table().is_some() {
            let rule =
                "is a table: a pattern with dots stands in quotes, such as \"orders.*\" = [\"billing\"]";
            return Err(field.refuse(rule));
        }
        let pattern: TopicPattern = text
            .parse()
            .map_err(|error| field.refuse(format!("the pattern {error}")))?;
        let destinations = destinations(&field, &routes)?;
        routes = routes.with_topic(pattern, destinations);
    }
    Ok(routes)
}

/// One name, or a list of names, which may be empty.
fn destinations(field: &Field<'_, '_>, routes: &Routes) -> Result<Vec<String>, ConfigError> {
    if field.value.as_str().is_some() {
        return Ok(vec![known(field, routes)?]);
    }
    if field.value.as_array().is_none() {
        return Err(field.refuse("must be the name of a destination, or a list of names"));
    }
    let mut names = Vec::new();
    for item in field.items()? {
        let name = known(&item, routes)?;
        if names.contains(&name) {
            return Err(item.refuse(format!("names the destination {name:?} twice")));
        }
        names.push(name);
    }
    Ok(names)
}

pub(super) fn known(field: &Field<'_, '_>, routes: &Routes) -> Result<String, ConfigError> {
    let name = field.text()?;
    if routes.get(name).is_some() {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = routes.iter().map(|(name, _)| name).collect();
    let shown: String = name.chars().take(64).collect();
    Err(field.refuse(match names.is_empty() {
        true => format!("the destination {shown:?} is unknown: add a table [destinations.NAME] for each"),
        false => format!("the destination {shown:?} {}", nearest::unknown(name, &names)),
    }))
}

//! The tables `[import.NAME]`.

use std::{collections::BTreeMap, fmt};

use super::{
    error::ConfigError,
    section::{Field, Section},
    topics,
};
use crate::{
    Timestamp,
    destination::Routes,
    import::{Mapping, PayloadSource, Source, TableName, headers_of},
    limits,
};

/// A foreign table that rows can be taken over from: the table `[import.NAME]`.
#[derive(Clone, PartialEq, Eq)]
pub struct ImportSettings {
    /// Where the table is; in the outbox's own database if nothing is said. It may hold a password.
    pub database: Option<String>,
    /// The table, and what of a message its columns are.
    pub mapping: Mapping,
}

/// Without the database's address, which may hold a password.
impl fmt::Debug for ImportSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportSettings")
            .field("database", &self.database.as_ref().map(|_| "…"))
            .field("mapping", &self.mapping)
            .finish()
    }
}

const FIELDS: &[&str] = &[
    "database",
    "table",
    "order",
    "where",
    "destination",
    "topic",
    "key",
    "payload",
    "content_type",
    "headers",
    "traceparent",
    "not_before",
    "expires_at",
    "deduplicate",
];

pub(super) fn imports(
    section: Option<&Section<'_, '_>>,
    routes: &Routes,
) -> Result<BTreeMap<String, ImportSettings>, ConfigError> {
    let mut imports = BTreeMap::new();
    let Some(section) = section else {
        return Ok(imports);
    };
    for (name, field) in section.fields() {
        // A colon would end the name within a de-duplication key.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > limits::IMPORT_NAME_LIMIT || !name.bytes().all(plain) {
            let limit = limits::IMPORT_NAME_LIMIT;
            let rule = format!("an import's name has 1 to {limit} letters, digits, hyphens and underscores");
            return Err(field.refuse(rule));
        }
        imports.insert(name.to_owned(), import(&field.section()?, routes)?);
    }
    Ok(imports)
}

fn import(section: &Section<'_, '_>, routes: &Routes) -> Result<ImportSettings, ConfigError> {
    section.only(FIELDS)?;
    let source = |name: &str| section.get(name).map(|field| source(&field)).transpose();
    let (destination, topic) = (source("destination")?, source("topic")?);
    if destination.is_none() && topic.is_none() {
        return Err(section.refuse(
            "must say where the rows go: destination, topic, or both, each a text or { column = \"NAME\" }",
        ));
    }
    if let (Some(field), Some(Source::Fixed(_))) = (section.get("destination"), &destination)
        && routes.iter().next().is_some()
    {
        topics::known(&field, routes)?;
    }
    let order = section.require(
        "order",
        "the column by which the table is read: unique, and growing",
    )?;
    let payload = section.require("payload", PAYLOAD)?;
    Ok(ImportSettings {
        database: section.get("database").map(|field| field.secret()).transpose()?,
        mapping: Mapping {
            table: table(&section.require("table", "the name of the table, or SCHEMA.NAME")?)?,
            order: name(&order)?,
            condition: section.get("where").map(|field| condition(&field)).transpose()?,
            destination,
            topic,
            key: source("key")?,
            payload: payload_source(&payload)?,
            content_type: source("content_type")?,
            headers: fixed(section, "headers", source("headers")?, |text| {
                headers_of(text)
                    .is_ok()
                    .then_some(())
                    .ok_or("a JSON object in quotes")
            })?,
            traceparent: source("traceparent")?,
            not_before: fixed(section, "not_before", source("not_before")?, time)?,
            expires_at: fixed(section, "expires_at", source("expires_at")?, time)?,
            deduplicate: section
                .get("deduplicate")
                .map(|field| column(&field, "{ column = \"NAME\" }"))
                .transpose()?,
        },
    })
}

const PAYLOAD: &str =
    "{ column = \"NAME\" }, or { columns = [\"ONE\", \"OTHER\"] } for a JSON object of them";

fn time(text: &str) -> Result<(), &'static str> {
    let parsed: Result<Timestamp, _> = text.parse();
    parsed
        .map(|_| ())
        .map_err(|_| "a time such as \"2026-11-15T20:30:00Z\"")
}

/// A text that is the same for every row is looked at once, here.
fn fixed(
    section: &Section<'_, '_>,
    name: &str,
    source: Option<Source>,
    look: impl Fn(&str) -> Result<(), &'static str>,
) -> Result<Option<Source>, ConfigError> {
    if let (Some(Source::Fixed(text)), Some(field)) = (&source, section.get(name)) {
        look(text).map_err(|rule| field.instead(format_args!("{rule}, or {{ column = \"NAME\" }}")))?;
    }
    Ok(source)
}

/// `NAME` or `SCHEMA.NAME`.
fn table(field: &Field<'_, '_>) -> Result<TableName, ConfigError> {
    let text = name(field)?;
    let parts: Vec<&str> = text.split('.').collect();
    let (schema, name) = match parts[..] {
        [name] => (None, name),
        [schema, name] => (Some(schema.to_owned()), name),
        _ => return Err(field.instead("the name of a table, or SCHEMA.NAME")),
    };
    if name.is_empty() || schema.as_deref() == Some("") {
        return Err(field.instead("the name of a table, or SCHEMA.NAME"));
    }
    Ok(TableName {
        schema,
        name: name.to_owned(),
    })
}

/// A name in the database. No database has one with a NUL in it, and none has an empty one.
fn name(field: &Field<'_, '_>) -> Result<String, ConfigError> {
    let text = field.text()?;
    if text.is_empty() || text.contains(char::is_control) {
        return Err(field.instead("a name of the database"));
    }
    Ok(text.to_owned())
}

fn condition(field: &Field<'_, '_>) -> Result<String, ConfigError> {
    let text = field.text()?;
    match text.trim().is_empty() || text.contains('\0') {
        true => Err(field.instead("an SQL condition, such as \"published_at IS NULL\"")),
        false => Ok(text.to_owned()),
    }
}

fn source(field: &Field<'_, '_>) -> Result<Source, ConfigError> {
    const RULE: &str = "text, which is the same for every row, or { column = \"NAME\" }";
    match field.value.as_str() {
        Some("") => Err(field.instead(RULE)),
        Some(text) => Ok(Source::Fixed(text.to_owned())),
        None => column(field, RULE).map(Source::Column),
    }
}

fn column(field: &Field<'_, '_>, rule: &str) -> Result<String, ConfigError> {
    if field.value.as_table().is_none() {
        return Err(field.instead(rule));
    }
    let section = field.section()?;
    section.only(&["column"])?;
    name(&section.require("column", "the name of a column")?)
}

fn payload_source(field: &Field<'_, '_>) -> Result<PayloadSource, ConfigError> {
    if field.value.as_table().is_none() {
        return Err(field.instead(PAYLOAD));
    }
    let section = field.section()?;
    section.only(&["column", "columns"])?;
    match (section.get("column"), section.get("columns")) {
        (Some(column), None) => name(&column).map(PayloadSource::Column),
        (None, Some(columns)) => {
            let names: Vec<String> = columns
                .items()?
                .map(|item| name(&item))
                .collect::<Result<_, _>>()?;
            match names.is_empty() {
                true => Err(columns.refuse("must hold at least one column")),
                false => Ok(PayloadSource::Columns(names)),
            }
        }
        _ => Err(field.instead(PAYLOAD)),
    }
}

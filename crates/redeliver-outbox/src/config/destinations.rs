//! The tables `[destinations.NAME]`.

use std::{sync::Arc, time::Duration};

use toml::de::DeValue;

use super::{
    error::ConfigError,
    manners, policy,
    section::{Field, Section},
    settings::RelaySettings,
};
#[cfg(feature = "http")]
use super::{network, request};
use crate::{
    destination::{Destination, Expects, LanePolicy, Log, Route, Routes},
    limits,
    secrecy::{FieldPath, Secrecy},
};

/// What every destination may say.
const COMMON: &[&str] = &[
    "type",
    "timeout",
    "concurrency",
    "lane",
    "payload_limit",
    "expects",
    "schema",
    "idempotent",
    "secret",
    "policy",
    "manners",
];

/// What only one over HTTP may say too.
const HTTP: &[&str] = &["url", "headers", "retry_statuses", "never_retry_statuses"];

#[cfg(feature = "http")]
const NETWORK: &[&str] = network::FIELDS;
#[cfg(not(feature = "http"))]
const NETWORK: &[&str] = &[];

#[cfg(feature = "http")]
const REQUEST: &[&str] = request::FIELDS;
#[cfg(not(feature = "http"))]
const REQUEST: &[&str] = &[];

const KINDS: &[&str] = &["http", "log"];
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
pub(super) const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);
/// No message is larger than a database row takes.
const LARGEST_PAYLOAD: usize = 1 << 30;

pub(super) fn routes(field: Option<Field<'_, '_>>, relay: &RelaySettings) -> Result<Routes, ConfigError> {
    let mut routes = Routes::new();
    let Some(field) = field else {
        return Ok(routes);
    };
    for (name, field) in field.section()?.fields() {
        if name.is_empty() || name.len() > limits::DESTINATION_LIMIT || name.contains(char::is_control) {
            let limit = limits::DESTINATION_LIMIT;
            let rule = format!("a destination's name has 1 to {limit} bytes and no control characters");
            return Err(field.refuse(rule));
        }
        routes = routes.with(name, route(&field.section()?, relay)?);
    }
    Ok(routes)
}

fn route(section: &Section<'_, '_>, relay: &RelaySettings) -> Result<Route, ConfigError> {
    section.only(&[COMMON, HTTP, NETWORK, REQUEST].concat())?;
    let kind = section.require("type", "one of http, log")?.word(KINDS)?;
    let secrecy = section.get("secret").map(|field| secrecy(&field)).transpose()?;
    let secrecy = secrecy.unwrap_or_default();
    let (destination, expects): (Arc<dyn Destination>, _) = match kind {
        "http" => (http(section)?, Expects::Json),
        _ => {
            section.only(COMMON)?;
            (Arc::new(Log::hiding(secrecy.clone())), Expects::Anything)
        }
    };
    let mut route = Route {
        destination,
        concurrency: relay.concurrency,
        expects,
        secrecy,
        ..Route::to(Log)
    };
    for (name, field) in section.fields() {
        match name {
            "timeout" => route.timeout = field.duration(SHORTEST_TIMEOUT..=LONGEST_TIMEOUT)?,
            "concurrency" => route.concurrency = field.count(1..=10_000)?,
            "lane" => route.lane = lane(&field)?,
            "payload_limit" => route.payload_limit = field.size(1..=LARGEST_PAYLOAD)?,
            "idempotent" => route.idempotent = field.flag()?,
            "policy" => route.policy = policy::read(&field)?,
            _ => {}
        }
    }
    if let Some(section) = section.section("manners")? {
        route.manners = manners::read(&section, &route)?;
    }
    if let Some(expected) = expects_of(section)? {
        route.expects = expected;
    }
    Ok(route)
}

/// All of a payload, or the fields that are named.
fn secrecy(field: &Field<'_, '_>) -> Result<Secrecy, ConfigError> {
    match field.value {
        DeValue::Boolean(true) => Ok(Secrecy::Everything),
        DeValue::Boolean(false) => Ok(Secrecy::Nothing),
        DeValue::Array(list) if list.is_empty() => {
            Err(field.refuse("must name at least one field; true is all of it, false nothing"))
        }
        DeValue::Array(_) => {
            let path = |item: Field<'_, '_>| {
                let path = item.text()?.parse::<FieldPath>();
                path.map_err(|error| item.refuse(error.to_string()))
            };
            field
                .items()?
                .map(path)
                .collect::<Result<_, _>>()
                .map(Secrecy::Fields)
        }
        _ => {
            Err(field
                .instead("true, false or a list of fields, such as [\"card.number\", \"people.*.email\"]"))
        }
    }
}

fn lane(field: &Field<'_, '_>) -> Result<LanePolicy, ConfigError> {
    let words = [LanePolicy::Block, LanePolicy::Park, LanePolicy::Skip].map(LanePolicy::as_str);
    let word = field.word(&words)?;
    word.parse().map_err(|_| field.refuse(word))
}

fn expects_of(section: &Section<'_, '_>) -> Result<Option<Expects>, ConfigError> {
    let expects = section.get("expects");
    let word = match &expects {
        Some(field) => Some(field.word(&["json", "anything"])?),
        None => None,
    };
    match (section.get("schema"), word) {
        (Some(field), Some("anything")) => {
            Err(field.refuse("checks what expects = \"anything\" lets pass: leave one of them out"))
        }
        (Some(field), _) => schema(&field).map(Some),
        (None, Some("json")) => Ok(Some(Expects::Json)),
        (None, Some(_)) => Ok(Some(Expects::Anything)),
        (None, None) => Ok(None),
    }
}

#[cfg(feature = "schema")]
fn schema(field: &Field<'_, '_>) -> Result<Expects, ConfigError> {
    let contents = field.contents()?;
    let wrong = |what: &str, error: &dyn std::fmt::Display| {
        let error = redeliver::address::printable(&error.to_string());
        field.refuse(format!("{:?} {what}: {error}", field.text().unwrap_or_default()))
    };
    let schema = serde_json::from_slice(&contents).map_err(|error| wrong("is no JSON", &error))?;
    crate::destination::json_schema(&schema)
        .map(Expects::Schema)
        .map_err(|error| wrong("is no JSON Schema", &error))
}

#[cfg(not(feature = "schema"))]
fn schema(field: &Field<'_, '_>) -> Result<Expects, ConfigError> {
    Err(field.refuse("cannot be checked: this build is without the feature `schema`"))
}

#[cfg(not(feature = "http"))]
fn http(section: &Section<'_, '_>) -> Result<Arc<dyn Destination>, ConfigError> {
    Err(section.refuse("cannot be reached: this build is without the feature `http`"))
}

#[cfg(feature = "http")]
fn http(section: &Section<'_, '_>) -> Result<Arc<dyn Destination>, ConfigError> {
    use crate::destination::Http;

    let url = section.require(
        "url",
        "where the messages go, such as \"https://example.com/events\"",
    )?;
    let mut builder = Http::to(url.secret()?);
    let headers = section.section("headers")?;
    for (name, field) in headers.iter().flat_map(Section::fields) {
        builder = builder.header(name, field.secret()?);
    }
    builder = network::read(section, builder)?;
    builder = request::read(section, builder)?;
    let idempotent = section.get("idempotent").map(|field| field.flag()).transpose()?;
    builder = builder.idempotent(idempotent.unwrap_or(true));
    let http = builder.statuses(statuses(section)?).build().map_err(|error| {
        // The error names the setting that it is about.
        match section.get(error.field) {
            Some(field) => field.refuse(error.rule),
            None => section.refuse(error.to_string()),
        }
    })?;
    Ok(Arc::new(http))
}

#[cfg(feature = "http")]
fn statuses(section: &Section<'_, '_>) -> Result<redeliver::classify::StatusTable, ConfigError> {
    use redeliver::classify::StatusTable;

    let mut table = StatusTable::DEFAULT;
    for (name, change) in [
        (
            "retry_statuses",
            StatusTable::with as fn(StatusTable, u16) -> StatusTable,
        ),
        ("never_retry_statuses", StatusTable::without),
    ] {
        let Some(field) = section.get(name) else {
            continue;
        };
        for item in field.items()? {
            let status = u16::try_from(item.count(300..=599)?).unwrap_or_default();
            table = change(table, status);
        }
    }
    Ok(table)
}

//! JSON Schemas that payloads must fit.

use std::{error::Error, sync::Arc};

use jsonschema::{Retrieve, Uri, ValidationError, Validator};
use redeliver::address::printable;
use serde_json::Value;

/// A schema that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSchema(String);

/// The schema, ready for [`Expects::Schema`](super::Expects::Schema). A `$ref` may point into the schema itself and nowhere else: nothing is
/// fetched, neither from the network nor from a file.
///
/// # Errors
/// If it is no JSON Schema, or points elsewhere.
pub fn json_schema(schema: &Value) -> Result<Arc<Validator>, InvalidSchema> {
    let options = jsonschema::options().with_retriever(Nothing);
    options
        .build(schema)
        .map(Arc::new)
        .map_err(|error| InvalidSchema(printable(&error.to_string())))
}

/// Fetches nothing.
struct Nothing;

impl Retrieve for Nothing {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err(format!("$ref {uri} points out of the schema, and nothing is fetched").into())
    }
}

/// How many violations are told.
const SHOWN: usize = 3;

/// Whether a payload fits, and if not, where it does not. Its values are not told: they may be what no error should show.
pub(super) fn check(payload: &Value, validator: &Validator) -> Result<(), String> {
    let mut violations = validator.iter_errors(payload);
    let told = |violation: ValidationError<'_>| {
        let path = violation.instance_path().as_str();
        let place = if path.is_empty() { "the payload" } else { path };
        format!(
            "{place}: {}",
            printable(&violation.masked_with("the value").to_string())
        )
    };
    let shown: Vec<String> = violations.by_ref().take(SHOWN).map(told).collect();
    if shown.is_empty() {
        return Ok(());
    }
    let more = match violations.count() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Err(format!(
        "the payload breaks the schema: {}{more}",
        shown.join("; ")
    ))
}

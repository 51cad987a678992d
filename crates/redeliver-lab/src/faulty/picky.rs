//! Takes nothing that lacks a field.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::reply::{Refusal, Reply, json_value};
use super::request::Call;

const USUAL_FIELD: &str = "id";

/// What is wrong with a body, and with which of its fields.
#[derive(Debug, PartialEq, Eq)]
struct Complaint<'a> {
    error: &'static str,
    field: Option<&'a str>,
}

pub(crate) fn picky(call: &Call) -> Result<Reply, Refusal> {
    let fields = call.query.text("field").unwrap_or(USUAL_FIELD);
    let wanted = || fields.split(',').map(str::trim);
    if wanted().any(str::is_empty) {
        return Err(Refusal::bad_request(format!(
            "field: {fields:?} is not allowed; give a name, or several with commas between them"
        )));
    }
    let Some(complaint) = complaint(&call.body, wanted()) else {
        return Ok(Reply::success(r#"{"ok":true}"#));
    };
    let body = json!({ "ok": false, "error": complaint.error, "field": complaint.field });
    Ok(Reply::fault(
        "picky",
        json_value(StatusCode::UNPROCESSABLE_ENTITY, &body),
    ))
}

fn complaint<'a>(body: &[u8], mut fields: impl Iterator<Item = &'a str>) -> Option<Complaint<'a>> {
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else {
        return Some(Complaint {
            error: "the body must be a JSON object",
            field: None,
        });
    };
    fields.find_map(|field| {
        let error = match body.get(field) {
            None => "a field is missing",
            Some(Value::Null) => "a field is null",
            Some(Value::String(text)) if text.is_empty() => "a field is empty",
            Some(_) => return None,
        };
        Some(Complaint {
            error,
            field: Some(field),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_that_is_wrong_is_named() {
        let told = |body: &str| complaint(body.as_bytes(), ["name", "email"].into_iter());
        let wrong = |error, field| Some(Complaint { error, field });
        assert_eq!(told(r#"{"name":"Ada","email":"ada@example.com"}"#), None);
        assert_eq!(told(r#"{"name":0,"email":false}"#), None);
        assert_eq!(told("{}"), wrong("a field is missing", Some("name")));
        assert_eq!(
            told(r#"{"name":"Ada"}"#),
            wrong("a field is missing", Some("email"))
        );
        assert_eq!(
            told(r#"{"name":"Ada","email":null}"#),
            wrong("a field is null", Some("email"))
        );
        assert_eq!(
            told(r#"{"name":"","email":1}"#),
            wrong("a field is empty", Some("name"))
        );
        for body in ["", "[]", "\"name\"", "{"] {
            assert_eq!(
                told(body),
                wrong("the body must be a JSON object", None),
                "{body}"
            );
        }
    }
}

use std::str::FromStr;

use redeliver::{sse::SseEvent, websocket::Message};
use serde_json::Value;

/// One item as it is shown, and where it is in its stream.
pub(super) struct Item {
    pub(super) text: String,
    /// The type of a server-sent event, unless it is the usual one.
    pub(super) event_type: Option<String>,
    /// What a reconnection goes on from.
    pub(super) place: Option<String>,
}

/// How a WebSocket goes on where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// By a field of the last item in a parameter of the next request.
    Field { field: String, parameter: String },
    /// Not at all.
    Nothing,
}

impl Default for Resume {
    fn default() -> Self {
        Self::Field {
            field: "id".to_owned(),
            parameter: "after".to_owned(),
        }
    }
}

impl FromStr for Resume {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self::Nothing);
        }
        match text.split_once('=') {
            Some((field, parameter)) if !field.is_empty() && !parameter.is_empty() => Ok(Self::Field {
                field: field.to_owned(),
                parameter: parameter.to_owned(),
            }),
            _ => Err(
                "give the field of an item and the query parameter it goes into, such as id=after, or none",
            ),
        }
    }
}

impl Item {
    pub(super) fn of_message(message: &Message, resume: &Resume) -> Self {
        let text = match message {
            Message::Binary(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            message => message.to_text().unwrap_or_default().to_owned(),
        };
        let place = match resume {
            Resume::Field { field, .. } => value_of(message, field),
            Resume::Nothing => None,
        };
        Self {
            text,
            event_type: None,
            place,
        }
    }

    pub(super) fn of_event(event: SseEvent) -> Self {
        Self {
            event_type: Some(event.event_type).filter(|kind| kind != "message"),
            place: Some(event.id).filter(|id| !id.is_empty()),
            text: event.data,
        }
    }

    /// The item on one line.
    pub(super) fn line(&self) -> String {
        self.text.replace('\r', "\\r").replace('\n', "\\n")
    }

    /// The item as JSON: what it is if it is JSON, else its text.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| Value::from(self.text.as_str()))
    }
}

/// The field of a message that is a JSON object, if it is a text or a number.
pub(crate) fn value_of(message: &Message, field: &str) -> Option<String> {
    let Message::Text(text) = message else { return None };
    let object: Value = serde_json::from_str(text).ok()?;
    match object.get(field)? {
        Value::String(value) => Some(value.clone()),
        Value::Number(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_item_is_a_text_or_a_number() {
        for (text, expected) in [
            (r#"{"id":7}"#, Some("7")),
            (r#"{"id":"a b"}"#, Some("a b")),
            (r#"{"id":18446744073709551615}"#, Some("18446744073709551615")),
            (r#"{"id":null}"#, None),
            (r#"{"id":[1]}"#, None),
            (r#"{"other":1}"#, None),
            ("7", None),
            ("not json", None),
        ] {
            assert_eq!(
                value_of(&Message::text(text), "id").as_deref(),
                expected,
                "{text}"
            );
        }
        assert_eq!(value_of(&Message::binary(&b"{\"id\":7}"[..]), "id"), None);
    }

    #[test]
    fn an_item_is_one_line_whatever_it_is() {
        let shown = |message: Message| Item::of_message(&message, &Resume::default()).line();
        assert_eq!(shown(Message::text("a\r\nb")), "a\\r\\nb");
        assert_eq!(shown(Message::binary(vec![0, 255])), "00ff");
    }

    #[test]
    fn a_resume_that_makes_no_sense_is_told_what_does() {
        assert_eq!("none".parse(), Ok(Resume::Nothing));
        assert_eq!("id=after".parse(), Ok(Resume::default()));
        for text in ["", "id", "=after", "id="] {
            assert!(text.parse::<Resume>().unwrap_err().contains("id=after"));
        }
    }
}

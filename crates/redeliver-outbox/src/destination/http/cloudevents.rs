//! Messages as CloudEvents 1.0, in the two ways that its HTTP binding has.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, header::CONTENT_TYPE};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Delivery, InvalidHttp,
    builder::invalid,
    template::{Format, Place, Template, percent_but},
};
use crate::{
    DeadReason, Message,
    destination::{
        Refusal,
        examine::{self, no_json},
    },
};

const STRUCTURED: HeaderValue = HeaderValue::from_static("application/cloudevents+json");
const JSON: &str = "application/json";
/// What the relay sets where events are binary.
const OWN: [&str; 6] = [
    "ce-specversion",
    "ce-id",
    "ce-source",
    "ce-type",
    "ce-time",
    "ce-subject",
];

/// What a builder was told.
pub(super) struct Asked {
    pub(super) mode: String,
    pub(super) source: String,
    pub(super) kind: String,
}

pub(super) struct CloudEvents {
    binary: bool,
    source: Template,
    kind: Template,
}

/// What an event makes of a request.
pub(super) struct Event {
    /// What is sent instead of the payload.
    pub(super) body: Option<Bytes>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

/// The attributes of an event, in the names of the specification.
#[derive(Serialize)]
struct Attributes<'a> {
    specversion: &'static str,
    id: String,
    source: String,
    r#type: String,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
}

#[derive(Serialize)]
struct Structured<'a> {
    #[serde(flatten)]
    attributes: Attributes<'a>,
    datacontenttype: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

impl CloudEvents {
    pub(super) fn new(asked: &Asked) -> Result<Self, InvalidHttp> {
        let wrong = |rule: String| invalid("cloudevents", rule);
        let binary = match asked.mode.as_str() {
            "structured" => false,
            "binary" => true,
            _ => return Err(wrong("mode must be one of structured, binary".to_owned())),
        };
        let template = |name: &str, text: &str, place: Place| {
            Template::parse(text, place).map_err(|error| wrong(format!("{name}, {error}")))
        };
        let source = template("source", &asked.source, Place::Url)?;
        let kind = template("type", &asked.kind, Place::Body(Format::Plain))?;
        if !is_reference(&source.sample("x", "x")) {
            return Err(wrong(
                "source must be a URI or a part of one, such as /shop".to_owned(),
            ));
        }
        if !is_attribute(&kind.sample("x", "x")) {
            return Err(wrong(
                "type must not be empty nor hold control characters".to_owned(),
            ));
        }
        Ok(Self { binary, source, kind })
    }

    /// Whether the relay sets a header of this name.
    pub(super) fn sets(&self, name: &HeaderName) -> bool {
        self.binary && OWN.contains(&name.as_str())
    }

    /// Whether all of an event is in the body, whose type is known then.
    pub(super) const fn is_structured(&self) -> bool {
        !self.binary
    }

    /// The event of a message, or why there is none.
    pub(super) fn event(&self, delivery: Delivery<'_>) -> Result<Event, Refusal> {
        let attributes = self.attributes(delivery)?;
        match self.binary {
            true => Ok(Event {
                body: None,
                headers: in_headers(&attributes)?,
            }),
            false => Ok(Event {
                body: Some(in_body(attributes, delivery.message)?.into()),
                headers: vec![(CONTENT_TYPE, STRUCTURED)],
            }),
        }
    }

    fn attributes<'a>(&self, delivery: Delivery<'a>) -> Result<Attributes<'a>, Refusal> {
        let rendered = |name: &str, template: &Template| {
            let text = template
                .render_text(delivery)
                .map_err(|rule| unfit(format!("cloudevents.{name}: {rule}")))?;
            match is_attribute(&text) {
                true => Ok(text),
                false => Err(unfit(format!(
                    "cloudevents.{name}: is empty, or holds a control character"
                ))),
            }
        };
        let message = delivery.message;
        let subject = message.key.as_deref().filter(|key| !key.is_empty());
        if !subject.is_none_or(is_attribute) {
            let reason = "the key holds a control character, which the subject of a CloudEvent must not";
            return Err((DeadReason::InvalidKey, reason.to_owned()));
        }
        Ok(Attributes {
            specversion: "1.0",
            id: message.id.to_string(),
            source: rendered("source", &self.source)?,
            r#type: rendered("type", &self.kind)?,
            time: message.created_at.to_string(),
            subject,
        })
    }
}

fn unfit(reason: String) -> Refusal {
    (DeadReason::InvalidPayload, reason)
}

fn in_headers(attributes: &Attributes<'_>) -> Result<Vec<(HeaderName, HeaderValue)>, Refusal> {
    let values = [
        Some(attributes.specversion),
        Some(&attributes.id),
        Some(&attributes.source),
        Some(&attributes.r#type),
        Some(&attributes.time),
        attributes.subject,
    ];
    let header = |(name, value): (&'static str, Option<&str>)| {
        let mut encoded = Vec::new();
        percent_but(&mut encoded, value?, |byte| {
            byte.is_ascii_graphic() && byte != b'"' && byte != b'%'
        });
        let value = HeaderValue::from_bytes(&encoded).map_err(|error| unfit(format!("{name}: {error}")));
        Some(value.map(|value| (HeaderName::from_static(name), value)))
    };
    OWN.into_iter().zip(values).filter_map(header).collect()
}

/// JSON goes in as it is, and everything else as base64.
fn in_body(attributes: Attributes<'_>, message: &Message) -> Result<Vec<u8>, Refusal> {
    let datacontenttype = message.content_type.as_deref();
    let (data, data_base64) = match examine::is_json(datacontenttype) {
        true => {
            let text = message
                .payload
                .as_text()
                .ok_or_else(|| no_json("it holds bytes that are no UTF-8"))?;
            let json: &RawValue = serde_json::from_str(text).map_err(no_json)?;
            (Some(json), None)
        }
        false => (None, Some(STANDARD.encode(message.payload.as_bytes()))),
    };
    let structured = Structured {
        attributes,
        datacontenttype: datacontenttype.unwrap_or(JSON),
        data,
        data_base64,
    };
    serde_json::to_vec(&structured).map_err(|error| unfit(error.to_string()))
}

/// Whether an attribute may be this text.
fn is_attribute(text: &str) -> bool {
    let odd = |character: char| {
        character.is_control()
            || matches!(character, '\u{fdd0}'..='\u{fdef}')
            || u32::from(character) & 0xfffe == 0xfffe
    };
    !text.is_empty() && !text.contains(odd)
}

/// Whether it holds only what a URI does, with two digits after each percent sign.
fn is_reference(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let digits = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    !text.is_empty() && text.bytes().all(allowed) && text.split('%').skip(1).all(digits)
}

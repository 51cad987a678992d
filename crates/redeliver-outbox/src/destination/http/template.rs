//! Texts with placeholders, for receivers that need another shape than the message's own.
//!
//! A value is escaped for the place where it stands, so that no message can leave it: not its segment of a URL, not its header, not its
//! JSON string. Pure: a message in, bytes or a reason out.

use std::{borrow::Cow, fmt};

use redeliver::address::printable;

use super::{
    Delivery,
    value::{self, Value},
};
use crate::destination::examine::is_json;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
const ALLOWED: &str = "{{id}}, {{key}}, {{topic}}, {{destination}}, {{attempt}}, {{created_at}}, {{payload}} and {{payload.FIELD}}";

/// What kind of text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Url,
    Header,
    Body(Format),
}

/// How values are written in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Form,
    Xml,
    /// As they are.
    Plain,
}

impl Format {
    /// The one that a content type asks for.
    pub(super) fn of(content_type: &str) -> Self {
        if is_json(Some(content_type)) {
            return Self::Json;
        }
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        match kind.to_ascii_lowercase().as_str() {
            "application/x-www-form-urlencoded" => Self::Form,
            "application/xml" | "text/xml" => Self::Xml,
            kind if kind.ends_with("+xml") => Self::Xml,
            _ => Self::Plain,
        }
    }
}

/// A text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Placeholder, Escape),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    Id,
    Key,
    Topic,
    Destination,
    Attempt,
    CreatedAt,
    /// The whole payload, or what its fields of these names lead to.
    Payload(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    /// One segment of a URL's path, or a part of one.
    Segment,
    Query,
    Form,
    Header,
    JsonString,
    JsonValue,
    Xml,
    Nothing,
}

/// What is wrong with a template, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    /// The character, from 1.
    position: usize,
    rule: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.position, self.rule)
    }
}

/// Whether a text is more than itself.
pub(super) fn is_template(text: &str) -> bool {
    text.contains(OPEN)
}

impl Template {
    pub(super) fn parse(text: &str, place: Place) -> Result<Self, Malformed> {
        let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
        let mut scan = Scan::new(place);
        while let Some(at) = rest.find(OPEN) {
            let malformed = |rule: String| Malformed {
                position: text[..text.len() - rest.len() + at].chars().count() + 1,
                rule,
            };
            literal.push_str(&rest[..at]);
            let inner = &rest[at + OPEN.len()..];
            if let Some(after) = inner.strip_prefix(OPEN) {
                literal.push_str(OPEN);
                rest = after;
                continue;
            }
            let end = inner.find(CLOSE).ok_or_else(|| {
                malformed("{{ is not closed by }}; two braces themselves are written {{{{".to_owned())
            })?;
            let what = placeholder(inner[..end].trim()).map_err(malformed)?;
            scan.text(&literal);
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(Part::Value(what, scan.escape()));
            rest = &inner[end + CLOSE.len()..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }

    /// What stands before the first placeholder.
    pub(super) fn start(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// With this in the place of every value.
    pub(super) fn sample(&self, text: &str, json: &str) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Value(_, Escape::JsonValue) => json.to_owned(),
            Part::Value(..) => text.to_owned(),
        };
        self.parts.iter().map(part).collect()
    }

    /// The bytes for a message, or why there are none. No value is told: it may be what no error should show.
    pub(super) fn render(&self, delivery: Delivery<'_>) -> Result<Vec<u8>, String> {
        let mut rendered = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => rendered.extend_from_slice(text.as_bytes()),
                Part::Value(what, escape) => {
                    let value = value::of(what, delivery)?;
                    write(&mut rendered, &value, *escape).map_err(|rule| format!("{what} {rule}"))?;
                }
            }
        }
        Ok(rendered)
    }

    /// The same as text, for a place that is no body.
    pub(super) fn render_text(&self, delivery: Delivery<'_>) -> Result<String, String> {
        String::from_utf8(self.render(delivery)?).map_err(|_| value::NO_TEXT.to_owned())
    }
}

/// What is escaped how depends on what stands before it.
struct Scan {
    place: Place,
    /// Whether a query has begun, or a JSON string.
    inside: bool,
    /// Whether the last character was a backslash that counts.
    escaped: bool,
}

impl Scan {
    const fn new(place: Place) -> Self {
        Self {
            place,
            inside: false,
            escaped: false,
        }
    }

    fn text(&mut self, text: &str) {
        for character in text.chars() {
            match self.place {
                Place::Url if character == '?' => self.inside = true,
                Place::Body(Format::Json) => {
                    let escaped = std::mem::take(&mut self.escaped);
                    match character {
                        '"' if !escaped => self.inside = !self.inside,
                        '\\' => self.escaped = self.inside && !escaped,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    const fn escape(&self) -> Escape {
        match (self.place, self.inside) {
            (Place::Url, false) => Escape::Segment,
            (Place::Url, true) => Escape::Query,
            (Place::Header, _) => Escape::Header,
            (Place::Body(Format::Json), true) => Escape::JsonString,
            (Place::Body(Format::Json), false) => Escape::JsonValue,
            (Place::Body(Format::Form), _) => Escape::Form,
            (Place::Body(Format::Xml), _) => Escape::Xml,
            (Place::Body(Format::Plain), _) => Escape::Nothing,
        }
    }
}

fn placeholder(name: &str) -> Result<Placeholder, String> {
    let unknown = || {
        let name: String = printable(name).chars().take(40).collect();
        Err(format!("{{{{{name}}}}} is unknown; allowed are {ALLOWED}"))
    };
    Ok(match name {
        "id" => Placeholder::Id,
        "key" => Placeholder::Key,
        "topic" => Placeholder::Topic,
        "destination" => Placeholder::Destination,
        "attempt" => Placeholder::Attempt,
        "created_at" => Placeholder::CreatedAt,
        "payload" => Placeholder::Payload(Vec::new()),
        _ => {
            let Some(path) = name.strip_prefix("payload.") else {
                return unknown();
            };
            let fields: Vec<String> = path.split('.').map(str::to_owned).collect();
            let odd = |field: &String| {
                field.is_empty() || field.contains(|c: char| c.is_control() || "{}".contains(c))
            };
            if fields.iter().any(odd) {
                return unknown();
            }
            Placeholder::Payload(fields)
        }
    })
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OPEN)?;
        match self {
            Self::Id => f.write_str("id")?,
            Self::Key => f.write_str("key")?,
            Self::Topic => f.write_str("topic")?,
            Self::Destination => f.write_str("destination")?,
            Self::Attempt => f.write_str("attempt")?,
            Self::CreatedAt => f.write_str("created_at")?,
            Self::Payload(fields) => {
                f.write_str("payload")?;
                for field in fields {
                    write!(f, ".{field}")?;
                }
            }
        }
        f.write_str(CLOSE)
    }
}

fn write(rendered: &mut Vec<u8>, value: &Value<'_>, escape: Escape) -> Result<(), String> {
    match escape {
        Escape::JsonValue => rendered.extend_from_slice(value.json()?.as_bytes()),
        Escape::Nothing => rendered.extend_from_slice(&value.bytes()?),
        Escape::JsonString => {
            let quoted = serde_json::Value::from(value.text()?.into_owned()).to_string();
            rendered.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
        }
        Escape::Header => {
            let text = value.text()?;
            if !text
                .bytes()
                .all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
            {
                return Err(
                    "holds a character that no header may: only visible ASCII, spaces and tabs".to_owned(),
                );
            }
            rendered.extend_from_slice(text.as_bytes());
        }
        Escape::Segment => {
            let text = value.text()?;
            if text.is_empty() {
                return Err("is empty, which would make it another URL".to_owned());
            }
            percent(rendered, &text);
        }
        Escape::Query | Escape::Form => percent(rendered, &value.text()?),
        Escape::Xml => xml(rendered, &value.text()?)?,
    }
    Ok(())
}

/// Everything but the characters that mean nothing anywhere in a URL.
pub(super) fn percent(rendered: &mut Vec<u8>, text: &str) {
    percent_but(rendered, text, |byte| {
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
    });
}

/// Everything but what is kept.
pub(super) fn percent_but(rendered: &mut Vec<u8>, text: &str, keep: impl Fn(u8) -> bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if keep(byte) {
            rendered.push(byte);
        } else {
            let digit = |half: u8| DIGITS[usize::from(half)];
            rendered.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

fn xml(rendered: &mut Vec<u8>, text: &str) -> Result<(), String> {
    for character in text.chars() {
        let entity: Cow<'_, str> = match character {
            '&' => "&amp;".into(),
            '<' => "&lt;".into(),
            '>' => "&gt;".into(),
            '"' => "&quot;".into(),
            '\'' => "&apos;".into(),
            '\t' | '\n' | '\r' => format!("&#{};", u32::from(character)).into(),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {
                return Err("holds a character that no XML may".to_owned());
            }
            other => other.to_string().into(),
        };
        rendered.extend_from_slice(entity.as_bytes());
    }
    Ok(())
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;

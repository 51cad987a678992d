//! Payloads and headers in a page: pretty where they are JSON, cut where they are long, as bytes where they are no text.

use std::fmt::{self, Write as _};

use redeliver_outbox::Payload;

use super::{
    difference::{self, Line},
    words::{bytes, visible},
};

/// The most characters that stand in a page.
const LONGEST: usize = 20_000;
/// How many times as long JSON may become by being laid out.
const GROWS: usize = 4;
/// The most bytes of what is no text that stand in a page.
const DUMPED: usize = 4_096;

/// A payload as a page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) size: String,
    /// `JSON`, `text` or `bytes`.
    pub(super) kind: &'static str,
    /// Whether there is more of it.
    pub(super) cut: bool,
}

impl Shown {
    pub(super) fn of(payload: &Payload) -> Self {
        let size = bytes(payload.len() as u64);
        let Some(text) = payload.as_text() else {
            let whole = payload.as_bytes();
            return Self {
                text: dump(&whole[..whole.len().min(DUMPED)]),
                size,
                kind: "bytes",
                cut: whole.len() > DUMPED,
            };
        };
        let pretty = pretty(text);
        let kind = if pretty.is_some() { "JSON" } else { "text" };
        let text = pretty.as_deref().unwrap_or(text);
        let end = text.char_indices().nth(LONGEST).map(|(end, _)| end);
        Self {
            size,
            kind,
            cut: end.is_some(),
            text: visible(&text[..end.unwrap_or(text.len())]),
        }
    }
}

/// The same JSON on several lines, with its fields and its numbers as they were written; none if it is no JSON, or if it is mostly brackets,
/// of which every one would have a line of its own.
pub(super) fn pretty(text: &str) -> Option<String> {
    let most = text.len().saturating_mul(GROWS).saturating_add(4_096);
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        // Nested deeper than anybody indents.
        out.extend(std::iter::repeat_n("  ", depth.min(64)));
    };
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if in_text {
            out.push(character);
            in_text = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            ' ' | '\n' | '\r' | '\t' => {}
            '"' => {
                in_text = true;
                out.push('"');
            }
            '{' | '[' => {
                out.push(character);
                while characters
                    .next_if(|next| matches!(next, ' ' | '\n' | '\r' | '\t'))
                    .is_some()
                {}
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => out.push(other),
        }
        if out.len() > most {
            return None;
        }
    }
    Some(out)
}

/// Bytes as a table of their values and of the characters that they would be.
fn dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (place, row) in bytes.chunks(16).enumerate() {
        let _ = write!(out, "{:08x} ", place * 16);
        for column in 0..16 {
            match row.get(column) {
                Some(byte) => {
                    let _ = write!(out, " {byte:02x}");
                }
                None => out.push_str("   "),
            }
        }
        out.push_str("  ");
        out.extend(row.iter().map(|byte| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        }));
        out.push('\n');
    }
    out
}

/// One line of a difference, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compared {
    pub(super) class: &'static str,
    pub(super) sign: &'static str,
    pub(super) text: String,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.sign, self.text)
    }
}

/// How two payloads differ, line by line as they are shown; none if they are too long to compare, or no text.
pub(crate) fn compared(before: &Payload, after: &Payload) -> Option<Vec<Compared>> {
    let text = |payload: &Payload| {
        let text = payload.as_text()?;
        Some(visible(&pretty(text).unwrap_or_else(|| text.to_owned())))
    };
    let (before, after) = (text(before)?, text(after)?);
    let lines = difference::between(&before, &after)?;
    let compared = |(line, text): (&Line<'_>, String)| Compared {
        class: line.class(),
        sign: line.sign(),
        text,
    };
    Some(
        lines
            .iter()
            .zip(difference::texts(&lines))
            .map(compared)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_never_changed() {
        let text = r#"{"z":1.10,"a":[],"b":[1,{ }],"c":"a \"quoted\" {text}, \\"}"#;
        let laid_out = pretty(text).unwrap();
        assert_eq!(
            laid_out,
            "{\n  \"z\": 1.10,\n  \"a\": [],\n  \"b\": [\n    1,\n    {}\n  ],\n  \"c\": \"a \\\"quoted\\\" {text}, \\\\\"\n}"
        );
        assert_eq!(pretty(&laid_out), Some(laid_out.clone()));
        assert_eq!(pretty("{oops"), None);
    }

    #[test]
    fn what_is_all_brackets_is_left_as_it_is() {
        let deep = format!("{}{}", "[".repeat(1 << 19), "]".repeat(1 << 19));
        assert_eq!(pretty(&deep), None);
        let shown = Shown::of(&Payload::from(deep));
        assert!(shown.cut && shown.text.len() == LONGEST);
        let flat = format!("[{}1]", "1,".repeat(1 << 19));
        assert!(pretty(&flat).unwrap().len() > 2 * flat.len());
    }

    #[test]
    fn what_is_long_is_cut_and_what_is_no_text_is_dumped() {
        let long = Shown::of(&Payload::from("x".repeat(1 << 20)));
        assert!(long.cut && long.text.len() == LONGEST && long.size == "1.0 MiB");
        let bytes = Shown::of(&Payload::from_bytes(vec![0xff; 5_000]));
        assert!(bytes.cut && bytes.kind == "bytes" && bytes.text.lines().count() == DUMPED / 16);
        let text = Shown::of(&Payload::from("a\x1b[2Jb"));
        assert_eq!((text.text.as_str(), text.kind), ("a␛[2Jb", "text"));
    }

    #[test]
    fn payloads_are_compared_as_they_are_shown() {
        let lines = compared(
            &Payload::from(r#"{"a":1,"b":2}"#),
            &Payload::from(r#"{"a":1,"b":3}"#),
        )
        .unwrap();
        let changed: Vec<&str> = lines
            .iter()
            .filter(|line| line.class != "same")
            .map(|line| line.text.trim())
            .collect();
        assert_eq!(changed, ["\"b\": 2", "\"b\": 3"]);
        assert!(compared(&Payload::from_bytes(vec![0xff]), &Payload::from("a")).is_none());
    }
}

//! A request as a person, or a program, reads it.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use redeliver_lab::receiver::{Answer, Arrival};
use serde_json::{Map, Value, json};

use super::verdict::{Signature, Verdict};
use crate::readable;

/// Told in the first line already, or by everybody.
const DULL: [&str; 10] = [
    "accept",
    "connection",
    "content-length",
    "host",
    "idempotency-key",
    "redeliver-attempt",
    "transfer-encoding",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
];
/// They hold secrets.
const SECRET: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];
/// The longest value of a header that is shown, in characters.
const LONGEST_VALUE: usize = 200;
/// Deeper than this, a body is not indented further.
const DEEPEST: usize = 16;

/// What happened to one request.
pub(super) struct Told<'a> {
    pub(super) arrival: &'a Arrival,
    pub(super) id: Option<&'a str>,
    /// Which delivery of the id it is, from 1.
    pub(super) delivery: u64,
    /// Whether it was taken before.
    pub(super) duplicate: bool,
    pub(super) signature: &'a Signature,
    pub(super) verdict: &'a Verdict,
    pub(super) answer: &'a Answer,
}

impl Told<'_> {
    fn body(&self) -> &[u8] {
        self.arrival.body.as_ref().map_or(&[], |body| body)
    }

    pub(super) fn words(&self, longest: usize) -> String {
        let Arrival { at, method, path, .. } = self.arrival;
        let at = redeliver::clock::timestamp(*at);
        let (method, path) = (readable::line(method, 16), readable::line(path, LONGEST_VALUE));
        let mut text = format!("{at}  {method} {path}\n  {}", self.about());
        for (name, value) in &self.arrival.headers {
            if !DULL.contains(&name.as_str()) {
                text.push_str(&format!("\n  {name}: {}", header(name, value)));
            }
        }
        if !self.body().is_empty() {
            text.push('\n');
            text.push_str(&body(self.body(), longest));
        }
        text.push_str(&format!("\n  → {}", self.answered()));
        text
    }

    /// Its id, which delivery it is, and what its signature is worth.
    fn about(&self) -> String {
        let id = self
            .id
            .map_or("no id".to_owned(), |id| format!("id {}", readable::line(id, 80)));
        let attempt = self.arrival.header("redeliver-attempt");
        let attempt = attempt.map_or(String::new(), |attempt| {
            format!(", attempt {}", readable::line(attempt, 10))
        });
        let again = match (self.delivery, self.duplicate) {
            (_, true) => format!(", DUPLICATE: delivery {} of what was taken before", self.delivery),
            (0 | 1, false) => String::new(),
            (delivery, false) => format!(", delivery {delivery} of this id"),
        };
        let signature = match (self.signature, self.signature.problem()) {
            (Signature::Unchecked, _) if self.arrival.header("webhook-signature").is_some() => {
                ", signature unchecked (give --secret)".to_owned()
            }
            (Signature::Unchecked, _) => String::new(),
            (signature, None) => format!(", signature {}", signature.word()),
            (signature, Some(problem)) => {
                format!(", signature {}: {problem}", signature.word().to_uppercase())
            }
        };
        format!("{id}{attempt}{again}{signature}")
    }

    fn answered(&self) -> String {
        let status = self
            .answer
            .status
            .map_or("no answer".to_owned(), |status| status.to_string());
        let why = match self.verdict {
            Verdict::Taken => "taken".to_owned(),
            Verdict::Skipped => "seen before, skipped".to_owned(),
            Verdict::Fails(why) => format!("fails on purpose: {why}"),
            Verdict::Unbelieved => "not believed".to_owned(),
            Verdict::Unread(_, words) | Verdict::Undone(words) => readable::line(words, LONGEST_VALUE),
        };
        let wait = self.answer.retry_after.filter(|_| self.answer.status.is_some());
        let wait = wait.map_or(String::new(), |seconds| format!(", Retry-After: {seconds}"));
        format!("{status}{wait}  {why}")
    }

    pub(super) fn form(&self, longest: usize) -> Value {
        let mut headers = Map::new();
        for (name, value) in &self.arrival.headers {
            let before = headers.get(name).and_then(Value::as_str).unwrap_or_default();
            let value = match SECRET.contains(&name.as_str()) {
                true => hidden(value),
                false => String::from_utf8_lossy(value).into_owned(),
            };
            let both = if before.is_empty() {
                value
            } else {
                format!("{before}, {value}")
            };
            headers.insert(name.clone(), both.into());
        }
        let body = self.body();
        let (text, base64) = match std::str::from_utf8(body) {
            Ok(text) => (Some(text.chars().take(longest).collect::<String>()), None),
            Err(_) => (None, Some(BASE64.encode(&body[..body.len().min(longest)]))),
        };
        json!({
            "at": redeliver::clock::timestamp(self.arrival.at),
            "method": self.arrival.method,
            "path": self.arrival.path,
            "id": self.id,
            "attempt": self.arrival.header("redeliver-attempt").and_then(|text| text.parse::<u64>().ok()),
            "delivery": self.delivery,
            "duplicate": self.duplicate,
            "signature": self.signature.word(),
            "signature_problem": self.signature.problem(),
            "result": self.verdict.word(),
            "status": self.answer.status,
            "headers": headers,
            "body": text,
            "body_base64": base64,
            "body_bytes": body.len(),
        })
    }
}

impl Verdict {
    const fn word(&self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Skipped => "skipped",
            Self::Fails(_) => "failed",
            Self::Unbelieved => "unbelieved",
            Self::Unread(..) => "unread",
            Self::Undone(_) => "undone",
        }
    }
}

fn header(name: &str, value: &[u8]) -> String {
    match SECRET.contains(&name) {
        true => hidden(value),
        false => readable::line(&String::from_utf8_lossy(value), LONGEST_VALUE),
    }
}

fn hidden(value: &[u8]) -> String {
    format!("({} bytes, not shown)", value.len())
}

fn body(bytes: &[u8], longest: usize) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return format!("  ({} bytes that are no text)", bytes.len());
    };
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let text = if is_json { indented(text) } else { text.to_owned() };
    let mut left = longest;
    let mut lines = Vec::new();
    for line in text.lines() {
        if left == 0 {
            lines.push("  …".to_owned());
            break;
        }
        let line = readable::line(line, left);
        left = left.saturating_sub(line.chars().count().max(1));
        lines.push(format!("  {line}"));
    }
    lines.join("\n")
}

/// JSON with a line for each value. Its tokens stay as they are: a number keeps its digits, an object the order of its fields.
fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth.min(DEEPEST)));
    };
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        if quoted {
            text.push(character);
            quoted = escaped || character != '"';
            escaped = character == '\\' && !escaped;
            continue;
        }
        match character {
            ' ' | '\t' | '\r' | '\n' => {}
            '{' | '[' => {
                while rest.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                text.push(character);
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    text.push(end);
                } else {
                    depth += 1;
                    line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(character);
            }
            ',' => {
                text.push(',');
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            _ => {
                quoted = character == '"';
                text.push(character);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_otherwise_as_it_is() {
        let json = r#"{"b": 12345678901234567890123.0, "a":[ ], "c": {"x":"}\"{,\\"},"d":[1,{}]}"#;
        let expected = "{\n  \"b\": 12345678901234567890123.0,\n  \"a\": [],\n  \"c\": {\n    \"x\": \"}\\\"{,\\\\\"\n  },\n  \"d\": [\n    1,\n    {}\n  ]\n}";
        assert_eq!(indented(json), expected);
        let deep = "[".repeat(100) + &"]".repeat(100);
        assert!(indented(&deep).len() < 100 * 2 * (2 * DEEPEST + 3));
    }

    #[test]
    fn a_body_gives_the_terminal_no_commands_and_is_cut() {
        assert_eq!(body(b"a\x1b[2J\nb", 100), "  a\u{fffd}[2J\n  b");
        assert_eq!(body(b"\xff\xfe", 100), "  (2 bytes that are no text)");
        assert_eq!(body(b"abcdef", 4), "  abc…");
        assert_eq!(body(b"[1,2,3,4]", 5), "  [\n    1,\n  …");
        assert_eq!(body(&[b'\n'; 1000], 3), "  \n  \n  \n  …");
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(
            header("authorization", b"Bearer hunter2"),
            "(14 bytes, not shown)"
        );
        assert_eq!(header("x-source", b"shop\x07"), "shop\u{fffd}");
    }
}

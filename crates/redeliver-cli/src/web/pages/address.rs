//! Addresses of pages, with what strangers called their things in them.

use std::fmt::Write as _;

/// A text as a segment of a path or a value of a query.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// What was meant by a value of a query or a form. What is broken stays as it is.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, left) = match (first, after) {
            (b'+', _) => (b' ', after),
            (b'%', [high, low, left @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, left),
                _ => (b'%', after),
            },
            (byte, _) => (*byte, after),
        };
        bytes.push(byte);
        rest = left;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// A page of ours, for going back to; the first page if it is none. `//host` and `/\host` would lead elsewhere.
pub(super) fn own(path: &str) -> &str {
    let rest = path.strip_prefix('/').unwrap_or("//");
    let safe = !rest.starts_with(['/', '\\']) && !path.chars().any(char::is_control) && path.is_ascii();
    if safe { path } else { "/" }
}

/// The page with this list of messages.
pub(super) fn messages(pairs: &[(&str, &str)]) -> String {
    with("/messages", pairs)
}

/// A path with a query.
pub(super) fn with(path: &str, pairs: &[(&str, &str)]) -> String {
    let query: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    match query.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", query.join("&")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for text in ["", "a b", "a/b?c=d&e#f", "Grüße 🦀", "100%", "\0\n\"'<>"] {
            assert_eq!(decoded(&encoded(text)), text);
        }
    }

    #[test]
    fn nobody_is_led_elsewhere() {
        for ours in ["/", "/messages?q=a%20b", "/a//b"] {
            assert_eq!(own(ours), ours);
        }
        for other in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "",
            "/a\r\nb",
            "evil",
        ] {
            assert_eq!(own(other), "/");
        }
    }
}

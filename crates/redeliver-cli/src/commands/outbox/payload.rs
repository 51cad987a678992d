//! Payloads, as they are given and shown.

use redeliver_outbox::Payload;

use crate::{commands::call::input, exit::BadInput, readable};

/// The most characters of a payload that are shown unasked.
const LONGEST_SHOWN: usize = 4_000;

/// JSON, `@FILE`, or `-` for standard input.
pub(crate) fn given(text: &str) -> Result<Payload, BadInput> {
    Ok(Payload::from_bytes(input::data("--payload", text)?))
}

/// Whether it is what a destination that expects JSON would quarantine.
pub(crate) fn is_broken_json(payload: &Payload, content_type: Option<&str>) -> bool {
    is_json(content_type) && serde_json::from_slice::<serde::de::IgnoredAny>(payload.as_bytes()).is_err()
}

/// Whether the content type says JSON, as none does.
fn is_json(content_type: Option<&str>) -> bool {
    let Some(content_type) = content_type else {
        return true;
    };
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// The payload for a person: text as it is, without what a terminal would obey; of bytes, how many.
pub(crate) fn shown(payload: &Payload) -> String {
    let Some(text) = payload.as_text() else {
        return "(no text; --raw writes it as it is)".to_owned();
    };
    let lines: Vec<String> = text
        .lines()
        .map(|line| readable::line(line, usize::MAX))
        .collect();
    let text = lines.join("\n");
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…\n(cut; --raw writes all of it)", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_to_be_json_has_to_be() {
        let broken = Payload::from("{oops");
        assert!(is_broken_json(&broken, None));
        assert!(is_broken_json(
            &broken,
            Some("application/cloudevents+json; charset=utf-8")
        ));
        assert!(!is_broken_json(&broken, Some("text/plain")));
        assert!(!is_broken_json(&Payload::from("[1]"), None));
    }

    #[test]
    fn a_payload_gives_the_terminal_no_commands() {
        assert_eq!(shown(&Payload::from("a\n\x1b[2Jb")), "a\n\u{fffd}[2Jb");
        assert!(shown(&Payload::from("x".repeat(5_000))).ends_with("writes all of it)"));
    }
}

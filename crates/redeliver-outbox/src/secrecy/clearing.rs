//! Texts from elsewhere, without the secrets that were sent there.

use redeliver::address::printable;
use serde_json::Value;

use super::MARK;

/// A hidden value that is shorter is found in any text.
const SHORTEST: usize = 4;
/// A word of a hidden value: shorter ones are found in any text.
const SHORTEST_WORD: usize = 8;

/// The text with a mark in the place of each of these, however it was escaped on its way, and of what is left of one where the text was cut.
pub(crate) fn cleared<'s>(text: &str, secrets: impl IntoIterator<Item = &'s str>) -> String {
    let mut forms: Vec<String> = secrets.into_iter().flat_map(forms).collect();
    // A secret may be a part of another one.
    forms.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    forms.dedup();
    let mut text = text.to_owned();
    for form in &forms {
        if text.contains(form.as_str()) {
            text = text.replace(form.as_str(), MARK);
        }
    }
    for form in &forms {
        cut_off(&mut text, form);
    }
    text
}

/// All that a secret may look like in an answer.
fn forms(secret: &str) -> Vec<String> {
    let words = secret
        .split_whitespace()
        .filter(|word| word.len() >= SHORTEST_WORD);
    let parts = std::iter::once(secret)
        .chain(words)
        .filter(|part| part.trim().chars().count() >= SHORTEST);
    parts.flat_map(written).collect()
}

fn written(part: &str) -> [String; 6] {
    let json = Value::from(part).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let escaped = |character: char| {
        let mut units = [0; 2];
        match character {
            '\u{20}'..='~' => character.to_string(),
            other => (other.encode_utf16(&mut units).iter())
                .map(|unit| format!("\\u{unit:04x}"))
                .collect(),
        }
    };
    let ascii: String = json.chars().map(escaped).collect();
    let percent = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    let html = part
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    [
        part.to_owned(),
        one_line(part),
        ascii,
        part.bytes().map(percent).collect(),
        html.replace('"', "&quot;").replace('\'', "&#39;"),
        json,
    ]
}

/// As [`printable`] lays it out, however long it is.
fn one_line(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().map(|c| printable(&c.to_string())).collect())
        .collect();
    words.join(" ")
}

/// Takes what is left of a secret from the end of a text.
fn cut_off(text: &mut String, secret: &str) {
    let end = text.strip_suffix(MARK).unwrap_or(text).len();
    let ends = secret
        .char_indices()
        .map(|(at, _)| at)
        .rev()
        .filter(|at| *at >= SHORTEST);
    for at in ends {
        if text[..end].ends_with(&secret[..at]) {
            text.truncate(end - at);
            text.push_str(MARK);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_however_it_was_escaped() {
        let secret = "pa\"ss <w&rd> é\nx";
        for (text, expected) in [
            ("no pa\"ss <w&rd> é\nx!", "no …!"),
            ("no pa\"ss <w&rd> é x!", "no …!"),
            (r#"no {"a":"pa\"ss <w&rd> é\nx"}"#, r#"no {"a":"…"}"#),
            (r#"no {"a":"pa\"ss <w&rd> \u00e9\nx"}"#, r#"no {"a":"…"}"#),
            ("no pa%22ss%20%3Cw%26rd%3E%20%C3%A9%0Ax!", "no …!"),
            ("no pa&quot;ss &lt;w&amp;rd&gt; é\nx!", "no …!"),
            ("nothing of it", "nothing of it"),
        ] {
            assert_eq!(cleared(text, [secret]), expected, "{text}");
        }
    }

    #[test]
    fn a_part_of_a_secret_is_found_where_it_was_cut() {
        for (text, expected) in [
            ("no 41111111", "no …"),
            ("no 41111111…", "no …"),
            ("no 411", "no 411"),
            ("no 4111111111111111", "no …"),
            ("no 4111-", "no 4111-"),
        ] {
            assert_eq!(cleared(text, ["4111111111111111"]), expected, "{text}");
        }
    }

    #[test]
    fn short_values_stay_and_long_words_go() {
        assert_eq!(cleared("it is 7, yes", ["7", "yes", ""]), "it is 7, yes");
        assert_eq!(cleared("no hunter2hunter2", ["Bearer hunter2hunter2"]), "no …");
        assert_eq!(cleared("no abcdefgh", ["abcdefgh", "abcd"]), "no …");
    }
}

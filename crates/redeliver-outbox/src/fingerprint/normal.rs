//! An error without what differs from message to message.

/// How much of an error counts. What a server adds behind that, and where its answer was cut off, tells no failures apart.
const LENGTH: usize = 200;
/// In place of what differs.
const BLANK: char = '#';
/// The longest quoted word that is taken for the name of a field or a code.
const LONGEST_NAME: usize = 40;
/// The longest run of letters and digits that is taken for a word.
const LONGEST_WORD: usize = 32;
/// From this length on, hexadecimal digits are somebody's id.
const HEX_ID: usize = 8;
/// The fields of a JSON answer whose values are words about the failure, and not data.
const TELLING: [&str; 12] = [
    "code",
    "description",
    "detail",
    "details",
    "error",
    "error_code",
    "error_description",
    "errors",
    "message",
    "msg",
    "reason",
    "title",
];

/// Ids, numbers, times, addresses and quoted values go; an HTTP status at the beginning, the words and short quoted names stay.
pub(super) fn normalised(error: &str) -> String {
    let (status, rest) = leading_status(error);
    let mut text = String::with_capacity(LENGTH);
    text.push_str(status);
    text.push_str(&settled(rest));
    cut(text)
}

/// `422 Unprocessable Content`: the number says more than the words.
fn leading_status(error: &str) -> (&str, &str) {
    let error = error.trim_start();
    let digits = error.bytes().take_while(u8::is_ascii_digit).count();
    let ends = !error[digits..].starts_with(|next: char| next.is_alphanumeric() || "._-:/,".contains(next))
        || error[digits..].starts_with(": ");
    if digits == 3 && ends {
        error.split_at(digits)
    } else {
        ("", error)
    }
}

/// Once more until nothing changes: what is left of one thing may be a part of another.
fn settled(text: &str) -> String {
    let mut text = plain(text);
    for _ in 0..8 {
        let again = plain(&text);
        if again == text {
            break;
        }
        text = again;
    }
    text
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LENGTH) {
        text.truncate(end);
    }
    text.truncate(text.trim_end().len());
    text
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4 * LENGTH));
    let mut key = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if is_word(next) {
            let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            word(&rest[..end], &mut out);
            rest = &rest[end..];
        } else if let Some(quoted) = quoted(next, rest, out.chars().next_back()) {
            out.push(next);
            quotation(quoted, &key, &mut out);
            out.push(next);
            rest = &rest[next.len_utf8() * 2 + quoted.len()..];
            key = if rest.trim_start().starts_with(':') {
                quoted.to_ascii_lowercase()
            } else {
                String::new()
            };
        } else {
            blank_or(next, &mut out);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

/// One space for many, and one blank for many.
fn blank_or(next: char, out: &mut String) {
    let next = if next.is_whitespace() { ' ' } else { next };
    if !(matches!(next, ' ' | BLANK) && out.ends_with(next)) {
        out.push(next);
    }
}

/// What is between this quotation mark and the next one. An apostrophe within a word is none.
fn quoted(mark: char, rest: &str, before: Option<char>) -> Option<&str> {
    let opens = match mark {
        '"' | '`' => true,
        '\'' => !before.is_some_and(|letter| letter.is_alphanumeric() || letter == BLANK),
        _ => false,
    };
    let inner = &rest[mark.len_utf8()..];
    let end = inner.find(mark).filter(|_| opens)?;
    Some(&inner[..end])
}

fn quotation(quoted: &str, key: &str, out: &mut String) {
    if TELLING.contains(&key) {
        out.push_str(&plain(quoted));
    } else if is_name(quoted) {
        out.push_str(&quoted.to_ascii_lowercase());
    } else if !quoted.is_empty() {
        out.push(BLANK);
    }
}

/// A word without digits, or several with dots and the like between them.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text
            .chars()
            .all(|letter| letter.is_alphabetic() || "_-.$/[]".contains(letter))
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-.:/@+%&=?~".contains(letter)
}

/// A run of letters, digits and what holds together addresses, times, paths and ids.
fn word(word: &str, out: &mut String) {
    let end = word.trim_end_matches(['.', ':', '?', '-', '/', ',']).len();
    let (word, tail) = word.split_at(end);
    if let Some(at) = uuid(word) {
        self::word(&word[..at], out);
        blank_or(BLANK, out);
        self::word(&word[at + UUID..], out);
    } else if is_of_one_message(word) {
        blank_or(BLANK, out);
    } else {
        for part in word.split_inclusive(|letter: char| !letter.is_alphanumeric()) {
            let length = part
                .trim_end_matches(|letter: char| !letter.is_alphanumeric())
                .len();
            let (letters, separator) = part.split_at(length);
            segment(letters, out);
            out.push_str(separator);
        }
    }
    out.push_str(tail);
}

const UUID: usize = 36;

/// Where one begins in the word, whatever is before and behind it.
fn uuid(word: &str) -> Option<usize> {
    word.as_bytes().windows(UUID).position(|window| {
        window.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    })
}

/// Ids, times, addresses of machines and of people, as a whole.
fn is_of_one_message(word: &str) -> bool {
    let digits = word.chars().any(|letter| letter.is_ascii_digit());
    let number = digits
        && word
            .chars()
            .all(|letter| letter.is_ascii_digit() || ".:-+/%TZ".contains(letter));
    let hex = |letter: char| letter.is_ascii_hexdigit() || letter == '-' || letter == ':';
    let id = word.len() >= HEX_ID && digits && word.chars().all(hex);
    let port = word.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let person = word
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    number || id || port || person || word.contains("://")
}

/// One run of letters and digits. `http2`, `5xx`, `250ms` and `E11000` keep their letters; what mixes more is an id.
fn segment(letters: &str, out: &mut String) {
    let digits = |letter: char| letter.is_ascii_digit();
    if !letters.contains(digits) {
        if letters.len() > LONGEST_WORD {
            blank_or(BLANK, out);
        } else {
            out.push_str(&letters.to_ascii_lowercase());
        }
        return;
    }
    let inner = letters.trim_matches(digits);
    let (begins, ends) = (letters.starts_with(digits), letters.ends_with(digits));
    if inner.contains(digits) || begins && ends || letters.len() >= HEX_ID {
        blank_or(BLANK, out);
        return;
    }
    if begins {
        blank_or(BLANK, out);
    }
    out.push_str(&inner.to_ascii_lowercase());
    if ends {
        blank_or(BLANK, out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What destinations and servers say, and what is left of it.
    #[test]
    fn what_differs_goes_and_what_tells_failures_apart_stays() {
        for (error, expected) in [
            ("422 Unprocessable Content", "422 unprocessable content"),
            (
                "503 Service Unavailable: upstream 10.3.4.5:8080 is gone",
                "503 service unavailable: upstream # is gone",
            ),
            (
                "cannot connect to https://shop.example:8443: Connection refused (os error 111)",
                "cannot connect to #: connection refused (os error #)",
            ),
            (
                "no answer from https://shop.example within 30s",
                "no answer from # within #s",
            ),
            (
                "no answer from https://shop.example within 1m 30s",
                "no answer from # within #m #s",
            ),
            (
                "the connection to http://[::1]:80 broke before an answer came: connection reset",
                "the connection to http://[#]# broke before an answer came: connection reset",
            ),
            (
                "it was to be delivered before 2026-11-16T09:03:10.250Z",
                "it was to be delivered before #",
            ),
            (
                "the payload has 1048577 bytes, and 1048576 are allowed",
                "the payload has # bytes, and # are allowed",
            ),
            (
                "the payload is no JSON: expected `,` or `}` at line 1 column 18",
                "the payload is no json: expected `#` or `#` at line # column #",
            ),
            (
                "no destination is named \"billing\"",
                "no destination is named \"billing\"",
            ),
            (
                "payload.customer.email has no value",
                "payload.customer.email has no value",
            ),
            (
                "duplicate key value violates unique constraint \"orders_pkey\"",
                "duplicate key value violates unique constraint \"orders_pkey\"",
            ),
            ("user ana.perez@example.org is unknown", "user # is unknown"),
            (
                "order 550e8400-e29b-41d4-a716-446655440000 is closed",
                "order # is closed",
            ),
            ("evt_550e8400-e29b-41d4-a716-446655440000: gone", "evt_#: gone"),
            ("no such order: ord_84f2a9c1", "no such order: ord_#"),
            ("trace 4bf92f3577b34da6a3ce929d0e0e4736 failed", "trace # failed"),
            ("'John Smith' is no customer", "'#' is no customer"),
            ("field 'email' is required", "field 'email' is required"),
            (
                "it doesn't fit, and that isn't new",
                "it doesn't fit, and that isn't new",
            ),
            ("404", "404"),
            ("404: not found", "404: not found"),
            ("4040 is no port", "# is no port"),
            ("E11000 duplicate key", "e# duplicate key"),
            ("HTTP/2 stream 17 was reset", "http/# stream # was reset"),
            (
                r#"400 Bad Request: {"error":"The amount 41.50 is too high","customer":"Ana Perez","id":"or_123"}"#,
                r##"400 bad request: {"error":"the amount # is too high","customer":"#","id":"#"}"##,
            ),
            (
                r#"400 Bad Request: {"code":"invalid_iban","field":"iban"}"#,
                r#"400 bad request: {"code":"invalid_iban","field":"iban"}"#,
            ),
            ("", ""),
        ] {
            assert_eq!(normalised(error), expected, "{error}");
        }
    }

    #[test]
    fn an_error_counts_to_a_length() {
        let long = "word ".repeat(300);
        assert!(normalised(&long).chars().count() <= LENGTH);
        let tails = [
            format!("500 {long} and 1"),
            format!("500 {long} and something else"),
        ];
        assert_eq!(normalised(&tails[0]), normalised(&tails[1]));
    }

    fn id() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<u64>().prop_map(|number| number.to_string()),
            any::<u128>().prop_map(|bits| format!("{bits:032x}1")),
            any::<(u32, u16, u16, u16, u64)>()
                .prop_map(|(a, b, c, d, e)| { format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{:012x}", e >> 16) }),
            any::<([u8; 4], u16)>()
                .prop_map(|(ip, port)| format!("{}.{}.{}.{}:{port}", ip[0], ip[1], ip[2], ip[3])),
            "[a-z]{1,9}@[a-z]{1,9}\\.org",
            (0..253_402_300_799_999_i64).prop_map(|millis| crate::Timestamp::from_millis(millis).to_string()),
        ]
    }

    proptest! {
        #[test]
        fn it_never_panics_and_once_is_enough(error in "\\PC{0,300}") {
            let once = normalised(&error);
            prop_assert!(once.chars().count() <= LENGTH);
            prop_assert_eq!(normalised(&once), once);
        }

        #[test]
        fn once_is_enough_for_what_servers_say(error in "([0-9]{3} )?([a-z]{1,5}|[0-9]{1,4}|[ '\"`:@/.#{}-]){0,60}") {
            let once = normalised(&error);
            prop_assert_eq!(normalised(&once), once);
        }

        #[test]
        fn texts_that_differ_only_in_ids_are_equal(one in id(), other in id()) {
            for text in ["order @ is closed", "409 Conflict: {\"id\":\"@\",\"code\":\"taken\"}", "no '@'", "(@)", "at @: gone"] {
                let of = |id: &str| normalised(&text.replace('@', id));
                prop_assert_eq!(of(&one), of(&other), "{}", text);
            }
        }
    }
}

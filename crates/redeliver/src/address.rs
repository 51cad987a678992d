//! How an address, and other text from elsewhere, is shown: in one short line, without secrets.

/// The longest piece of foreign text that an error shows, in characters.
const LONGEST_SHOWN: usize = 200;

/// A URL as errors and logs may show it: without user, password, fragment and query.
///
/// The text need not be a URL, so that an error can say of what is none what is wrong with it. Where it is not certain what of it is
/// a password (one with a `/` in it ends the host for every parser), all that comes before the last `@` is left out.
///
/// ```
/// use redeliver::address::shown;
///
/// assert_eq!(shown("https://user:word@example.com/orders?token=abc"), "https://example.com/orders?…");
/// assert_eq!(shown("https://user:wo/rd@example.com/"), "https://example.com/");
/// assert_eq!(shown("user:word@example.com"), "example.com");
/// ```
#[must_use]
pub fn shown(url: &str) -> String {
    let (scheme, rest) = split_scheme(url);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let after_user = |text: &str| text.rfind('@').map_or(0, |at| at + 1);
    let host = after_user(authority);
    let host = match !scheme.is_empty() && is_host(&authority[host..]) {
        true => host,
        false => after_user(rest),
    };
    let address = &rest[host..];
    let (address, rest) = address.split_at(address.find(['?', '#']).unwrap_or(address.len()));
    let query = if rest.starts_with('?') { "?…" } else { "" };
    printable(&format!("{scheme}{address}{query}"))
}

/// The scheme with its `://`, if there is one, and the rest.
fn split_scheme(url: &str) -> (&str, &str) {
    let is_scheme = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    match url.find("://") {
        Some(end) if is_scheme(&url[..end]) => url.split_at(end + "://".len()),
        _ => ("", url),
    }
}

/// Whether it can be a host with or without its port, as the first half of a password with a `/` in it cannot.
fn is_host(text: &str) -> bool {
    let port = match text.rfind(']') {
        Some(end) => &text[end + 1..],
        None => text.find(':').map_or("", |at| &text[at..]),
    };
    port.strip_prefix(':')
        .unwrap_or(port)
        .bytes()
        .all(|byte| byte.is_ascii_digit())
}

/// Text from elsewhere as one short line: 200 characters at most, white space as single spaces, no control character and none that
/// changes how others are shown.
///
/// ```
/// assert_eq!(redeliver::address::printable("<h1>\n  Bad \u{7} gateway"), "<h1> Bad \u{fffd} gateway");
/// ```
#[must_use]
pub fn printable(text: &str) -> String {
    let mut line: String = text
        .split_whitespace()
        .flat_map(|word| [" ", word])
        .skip(1)
        .flat_map(str::chars)
        .map(|c| if is_deceptive(c) { '\u{fffd}' } else { c })
        .take(LONGEST_SHOWN + 1)
        .collect();
    if let Some((at, _)) = line.char_indices().nth(LONGEST_SHOWN) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Whether it moves the cursor, turns the direction of what follows, or is not to be seen at all.
fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (url, expected) in [
            ("ws://user:word@host:1/p@th?token=a&b#c", "ws://host:1/p@th?…"),
            ("https://host/#hunter2", "https://host/"),
            ("https://host?hunter2", "https://host?…"),
            ("http://[::1]:80/p", "http://[::1]:80/p"),
            ("http://[::1", "http://[::1"),
            ("http://host:99999/p", "http://host:99999/p"),
            ("nonsense", "nonsense"),
            ("a\nb\u{1b}", "a b\u{fffd}"),
            ("", ""),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn no_part_of_a_password_is_shown_whatever_is_in_it() {
        let long = format!("ws://user:{}@host/", "hunter2".repeat(100));
        for url in [
            "hunter2@host/",
            "user:hunter2@host/",
            "http://user:hunter2@host/",
            "http://user:hunter2/hunter2@host/",
            "http://user:hunter2?hunter2@host/",
            "http://user:hunter2#hunter2@host/",
            "http://user:hunter2@hunter2:hunter2/hunter2@host/",
            "http:/user:hunter2@host/",
            &long,
        ] {
            let shown = shown(url);
            assert!(
                !shown.contains("hunter2") && shown.ends_with("host/"),
                "{url}: {shown}"
            );
        }
    }

    #[test]
    fn foreign_text_becomes_one_short_line() {
        assert_eq!(printable(" a\r\n\tb \u{1b}[31m"), "a b \u{fffd}[31m");
        assert_eq!(printable("paid\u{202e}ton\u{200b}"), "paid\u{fffd}ton\u{fffd}");
        let long = printable(&"é".repeat(10_000));
        assert_eq!(long.chars().count(), LONGEST_SHOWN + 1);
        assert!(long.ends_with('…'));
    }
}

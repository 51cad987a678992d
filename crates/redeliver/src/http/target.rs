//! Where a request goes, and how that is shown without its secrets.

use reqwest::Url;

/// The longest piece of a URL or of a body that an error shows, in characters.
const LONGEST_SHOWN: usize = 200;

/// A URL that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) url: Url,
    /// Scheme, host and port: what shares a `Retry-After`.
    pub(crate) origin: String,
}

impl Target {
    /// Checks a URL; the error is one line that shows no secret.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |rule: &str| format!("url {:?}: {rule}", without_secrets(text));
        let url = Url::parse(text).map_err(|error| match error.to_string().as_str() {
            "relative URL without a base" => wrong("must start with http:// or https://"),
            problem => wrong(problem),
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("must start with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "must not contain a user or a password; send them as an Authorization header",
            ));
        }
        Ok(Self {
            origin: origin(&url),
            url,
        })
    }
}

/// What of a URL shares a `Retry-After`.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// A URL as errors show it: without user, password, fragment and the values of its query.
pub(crate) fn shown(url: &Url) -> String {
    without_secrets(url.as_str())
}

/// The same for a text that may not be a URL at all.
fn without_secrets(text: &str) -> String {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let (address, rest) = text.split_at(end);
    let start = address.find("//").map_or(0, |at| at + 2);
    let (scheme, address) = address.split_at(start);
    let authority = address.find('/').unwrap_or(address.len());
    let host = address[..authority].rfind('@').map_or(0, |at| at + 1);
    let rest = if rest.starts_with('?') { "?…" } else { "" };
    printable(&format!("{scheme}{}{rest}", &address[host..]))
}

/// Text from elsewhere as one short line.
pub(crate) fn printable(text: &str) -> String {
    let mut line: String = text
        .split_whitespace()
        .flat_map(|word| [" ", word])
        .skip(1)
        .flat_map(str::chars)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .take(LONGEST_SHOWN + 1)
        .collect();
    if let Some((at, _)) = line.char_indices().nth(LONGEST_SHOWN) {
        line.truncate(at);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_called_is_refused_without_its_secrets() {
        for (text, rule) in [
            ("example.com/x", "must start with http:// or https://"),
            ("ftp://example.com", "must start with http:// or https://"),
            (
                "user:hunter2@example.com/x",
                "must start with http:// or https://",
            ),
            ("https://user:hunter2@example.com/?key=hunter2", "Authorization"),
            ("https://hunter2@example.com", "Authorization"),
            ("http://user:hunter2@exa mple.com/", "invalid"),
            ("http://", "empty host"),
            ("http://example.com:99999/?token=hunter2", "invalid port number"),
            ("", "must start with http:// or https://"),
        ] {
            let error = Target::parse(text).unwrap_err();
            assert!(error.contains(rule), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{text}: {error}");
            assert!(!error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn a_target_is_shown_without_the_values_of_its_query() {
        let target = Target::parse("https://api.example.com:443/orders/7?token=abc#part").unwrap();
        assert_eq!(shown(&target.url), "https://api.example.com/orders/7?…");
        assert_eq!(target.origin, "https://api.example.com");
        let other = Target::parse("http://api.example.com:8080").unwrap();
        assert_eq!(other.origin, "http://api.example.com:8080");
    }

    #[test]
    fn foreign_text_becomes_one_short_line() {
        assert_eq!(printable(" a\r\n\tb \u{1b}[31m"), "a b \u{fffd}[31m");
        let long = printable(&"é".repeat(10_000));
        assert_eq!(long.chars().count(), LONGEST_SHOWN + 1);
        assert!(long.ends_with('…'));
    }
}

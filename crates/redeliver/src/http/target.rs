//! Where a request goes.

use reqwest::Url;

use crate::address::shown;

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
        let wrong = |rule: &str| format!("url {:?}: {rule}", shown(text));
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
    fn an_origin_is_scheme_host_and_port() {
        let target = Target::parse("https://api.example.com:443/orders/7?token=abc#part").unwrap();
        assert_eq!(target.origin, "https://api.example.com");
        let other = Target::parse("http://api.example.com:8080").unwrap();
        assert_eq!(other.origin, "http://api.example.com:8080");
    }
}

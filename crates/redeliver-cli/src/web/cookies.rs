//! What a browser remembers for us.

use axum::http::{HeaderMap, header};

/// The value of a cookie, as it was sent.
pub(super) fn named<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "themes=no; theme=dark; x".parse().unwrap());
        assert_eq!(named(&headers, "theme"), Some("dark"));
        assert_eq!(named(&headers, "x"), None);
        assert_eq!(named(&HeaderMap::new(), "theme"), None);
    }
}

use std::fmt;

use tokio_tungstenite::tungstenite::{
    client::IntoClientRequest,
    handshake::client::Request,
    http::{HeaderName, HeaderValue, Uri},
};

use super::{Message, WebSocketError};
use crate::address::shown;

/// The next request for a connection, and what is said first on it.
pub struct Handshake {
    url: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) first: Vec<Message>,
    refused: Option<String>,
}

impl Handshake {
    pub(super) const fn new(url: String, headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        Self {
            url,
            headers,
            first: Vec::new(),
            refused: None,
        }
    }

    /// Sets a query parameter of the URL, in place of the one that has this name already.
    pub fn query(&mut self, name: &str, value: &str) {
        self.url = with_query(&self.url, name, value);
    }

    /// Sets a header. One that no request can carry fails the connection for good.
    pub fn header(&mut self, name: &str, value: &str) {
        match parse_header(name, value) {
            Ok((name, value)) => {
                self.headers.retain(|(known, _)| *known != name);
                self.headers.push((name, value));
            }
            Err(words) => self.refused = Some(words),
        }
    }

    /// Sends this message as soon as the connection is up, before anything else.
    pub fn say(&mut self, message: impl Into<Message>) {
        self.first.push(message.into());
    }

    pub(super) fn request(&self) -> Result<Request, WebSocketError> {
        if let Some(words) = &self.refused {
            return Err(WebSocketError::Invalid(words.clone()));
        }
        let invalid = |error| WebSocketError::Invalid(format!("URL {}: {error}", shown(&self.url)));
        let mut request = self.url.as_str().into_client_request().map_err(invalid)?;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        Ok(request)
    }
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake")
            .field("url", &shown(&self.url))
            .finish_non_exhaustive()
    }
}

/// A header, or what is wrong with it; the value may be a secret and stays out of the words.
pub(super) fn parse_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("header {name:?}: give a name of letters, digits and hyphens"))?;
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| format!("header {name:?}: give a value of visible ASCII characters"))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

/// Refuses what cannot be a WebSocket's address.
pub(super) fn check_url(url: &str) -> Result<(), WebSocketError> {
    let refused = |rule: &str| Err(WebSocketError::Invalid(format!("URL {:?}: {rule}", shown(url))));
    let Ok(parsed) = url.parse::<Uri>() else {
        return refused("give an address such as wss://example.com/events");
    };
    match parsed.scheme_str() {
        Some("ws" | "wss") => {}
        _ => return refused("must begin with ws:// or wss://"),
    }
    match parsed.authority() {
        Some(authority) if authority.as_str().contains('@') => {
            refused("must carry no user or password; give them in an Authorization header")
        }
        Some(authority) if authority.host().is_empty() => refused("has no host"),
        Some(authority) if authority.port_u16().is_none() && authority.as_str() != authority.host() => {
            refused("the port must be from 1 to 65535")
        }
        Some(_) => Ok(()),
        None => refused("has no host"),
    }
}

fn with_query(url: &str, name: &str, value: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let name = encoded(name);
    let kept = query
        .split('&')
        .filter(|pair| !pair.is_empty() && pair.split('=').next() != Some(name.as_str()))
        .map(str::to_owned);
    let pairs: Vec<_> = kept.chain([format!("{name}={}", encoded(value))]).collect();
    format!("{address}?{}", pairs.join("&"))
}

fn encoded(text: &str) -> String {
    text.bytes()
        .fold(String::with_capacity(text.len()), |mut encoded, byte| {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    encoded.push(char::from(byte));
                }
                _ => encoded.push_str(&format!("%{byte:02X}")),
            }
            encoded
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_parameter_is_set_once() {
        for (url, expected) in [
            ("ws://h/p", "ws://h/p?after=7"),
            ("ws://h/p?after=1", "ws://h/p?after=7"),
            ("ws://h?a=1&after=1&b#top", "ws://h?a=1&b&after=7"),
            ("ws://h/p?", "ws://h/p?after=7"),
        ] {
            assert_eq!(with_query(url, "after", "7"), expected);
        }
        assert_eq!(with_query("ws://h/", "a b", "1&é"), "ws://h/?a%20b=1%26%C3%A9");
    }

    #[test]
    fn a_bad_address_is_named_with_what_is_allowed_and_without_secrets() {
        for (url, words) in [
            ("", "such as wss://"),
            ("nonsense", "ws:// or wss://"),
            ("http://h/p?token=secret", "ws:// or wss://"),
            ("ws://user:secret@h/p", "Authorization"),
            ("ws://", "such as wss://"),
            ("ws://h:99999999/", "1 to 65535"),
            ("ws://h/\u{7f}secret\n", "such as wss://"),
        ] {
            let error = check_url(url).unwrap_err().to_string();
            assert!(error.contains(words), "{url}: {error}");
            assert!(
                !error.contains("=secret") && !error.contains(":secret"),
                "{error}"
            );
            assert!(!error.contains('\n'), "{error}");
        }
        assert!(check_url("wss://[::1]:9/p?q").is_ok());
    }

    #[test]
    fn a_header_that_cannot_be_sent_fails_the_request_without_its_value() {
        let mut next = Handshake::new("ws://h/".to_owned(), Vec::new());
        next.header("authorization", "Bearer se\ncret");
        let error = next.request().unwrap_err().to_string();
        assert!(
            error.contains("authorization") && !error.contains("cret"),
            "{error}"
        );
        let mut next = Handshake::new("ws://h/".to_owned(), Vec::new());
        next.header("X-After", "1");
        next.header("x-after", "2");
        assert_eq!(next.request().unwrap().headers()["x-after"], "2");
    }
}

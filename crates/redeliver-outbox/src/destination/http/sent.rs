//! What was sent that is secret: many a page of an error repeats it.

use http::{HeaderValue, Request, Uri};

use crate::secrecy::cleared;

/// A secret is longer than this, in bytes: shorter words are found in any text.
const SHORTEST: usize = 8;
/// A part of a path that is this long is no word that somebody chose.
const LONGEST_WORD: usize = 20;

/// The secrets of one request.
#[derive(Debug, Default)]
pub(super) struct Sent {
    headers: Vec<HeaderValue>,
    place: Uri,
}

impl Sent {
    /// Of this request: its sensitive headers, and with many services its address.
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let sensitive = request.headers().values().filter(|value| value.is_sensitive());
        Self {
            headers: sensitive.cloned().collect(),
            place: request.uri().clone(),
        }
    }

    pub(super) fn push(&mut self, header: HeaderValue) {
        self.headers.push(header);
    }

    /// The text without them.
    pub(super) fn left_out_of(&self, text: &[u8]) -> String {
        // Of `Bearer abc`, what is shown may be `abc` alone.
        let headers = self.headers.iter().filter_map(|value| value.to_str().ok());
        let words = headers
            .flat_map(str::split_whitespace)
            .filter(|word| word.len() >= SHORTEST);
        let query = self.place.query().unwrap_or_default().split('&');
        let values = query
            .filter_map(|pair| pair.split_once('=').map_or(Some(pair), |(_, value)| Some(value)))
            .filter(|value| value.len() >= SHORTEST);
        let segments = self
            .place
            .path()
            .split('/')
            .filter(|segment| looks_secret(segment));
        cleared(
            &String::from_utf8_lossy(text),
            words.chain(values).chain(segments),
        )
    }
}

/// Paths are mostly words, by which an operator knows what an error is about; a key among them is long, or has digits in it.
fn looks_secret(segment: &str) -> bool {
    segment.len() >= LONGEST_WORD
        || segment.len() >= SHORTEST && segment.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_left_out_and_words_stay() {
        let place = "https://example.com/services/T0000000A/payments/abcdefghijklmnopqrstuvwx?token=hunter2hunter2&page=7";
        let mut request = Request::new(());
        *request.uri_mut() = Uri::from_static(place);
        let mut sent = Sent::of(&request);
        sent.push(HeaderValue::from_static("Bearer 0123456789"));
        for (text, expected) in [
            (
                "Cannot POST /services/T0000000A/payments",
                "Cannot POST /services/…/payments",
            ),
            ("no hook abcdefghijklmnopqrstuvwx", "no hook …"),
            ("bad token hunter2hunter2 on page 7", "bad token … on page 7"),
            (
                "who is 0123456789? Bearer of nothing",
                "who is …? Bearer of nothing",
            ),
        ] {
            assert_eq!(sent.left_out_of(text.as_bytes()), expected);
        }
    }
}

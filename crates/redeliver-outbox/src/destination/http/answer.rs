//! What an answer means.

use std::{fmt::Write as _, time::Duration};

use http::{
    HeaderMap, HeaderValue, Response, StatusCode, Version,
    header::{CONTENT_ENCODING, DATE, LOCATION, RETRY_AFTER},
    response::Parts,
};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Incoming};
use redeliver::{
    Class,
    address::{printable, shown},
    classify::StatusTable,
    clock, retry_after,
};

use super::{Answer, Outcome};
use crate::DeadReason;

/// As much of an answer is read as may be worth showing.
const LARGEST: usize = 4 << 10;
/// The status says what a failure is; its body is not waited for longer than this.
const LONGEST_FAILURE: Duration = Duration::from_secs(1);
/// The body of a success tells nothing. It is read so that its connection can be used again, which is not worth a longer wait.
const LONGEST_SUCCESS: Duration = Duration::from_millis(100);

/// How statuses are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Which of them are worth a retry.
    pub(super) statuses: StatusTable,
    /// Whether the same message may be sent twice.
    pub(super) idempotent: bool,
}

impl Reading {
    /// A gateway's 502 or 504 asks for fewer requests, as Standard Webhooks reads it. But the server behind it may have taken the message:
    /// where that must not happen twice, this counts for more.
    const fn class(&self, status: StatusCode, asked: Option<Duration>) -> Class {
        match (self.statuses.class(status.as_u16(), asked), status) {
            (Class::Unknown, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT) if self.idempotent => {
                Class::THROTTLED
            }
            (class, _) => class,
        }
    }
}

/// The outcome behind an answer. Its body may take what is `left` of the attempt's time, at most. What was `sent` with the request and is
/// secret is not shown, although many a page of an error shows it.
pub(super) async fn judge(
    answer: Response<Incoming>,
    reading: Reading,
    sent: &[HeaderValue],
    left: Duration,
) -> (Outcome, Answered) {
    let (head, body) = answer.into_parts();
    let status = head.status;
    let longest = match status.is_success() {
        true => LONGEST_SUCCESS,
        false => LONGEST_FAILURE,
    };
    let (body, to_its_end) = start_of(body, longest.min(left)).await;
    let outcome = match status.is_success() {
        true => Outcome::Delivered,
        false => failed(&head, reading, &without_secrets(&body, sent)),
    };
    let answered = Answered {
        head,
        body,
        to_its_end,
    };
    (outcome, answered)
}

/// An answer, as far as it was read.
pub(super) struct Answered {
    head: Parts,
    body: Vec<u8>,
    /// Whether there is nothing left of it on its connection.
    pub(super) to_its_end: bool,
}

impl Answered {
    /// As a person may see it.
    pub(super) fn told(&self, sent: &[HeaderValue]) -> Answer {
        let Parts {
            status,
            version,
            headers,
            ..
        } = &self.head;
        Answer {
            status: status.as_u16(),
            protocol: match *version {
                Version::HTTP_2 => "HTTP/2",
                Version::HTTP_10 => "HTTP/1.0",
                _ => "HTTP/1.1",
            },
            said: match packed(headers) {
                Some(packed) if !self.body.is_empty() => format!("({packed})"),
                _ => printable(&without_secrets(&self.body, sent)),
            },
        }
    }
}

fn failed(head: &Parts, reading: Reading, body: &str) -> Outcome {
    let status = head.status;
    let reason = reason(status, &head.headers, body);
    match reading.class(status, asked_wait(&head.headers)) {
        Class::Permanent if status == StatusCode::GONE => Outcome::Disable { reason },
        Class::Permanent => Outcome::Reject {
            kind: match status {
                StatusCode::PAYLOAD_TOO_LARGE => DeadReason::TooLarge,
                _ => DeadReason::Permanent,
            },
            reason,
        },
        class => Outcome::Retry { class, reason },
    }
}

/// The first bytes of a body, as far as they come in time, and whether they are all. Dropped before its end, it takes its connection with it.
async fn start_of(mut body: impl Body<Data = Bytes> + Unpin, wait: Duration) -> (Vec<u8>, bool) {
    let mut start = Vec::new();
    let read = async {
        while !body.is_end_stream() {
            if start.len() >= LARGEST {
                return false;
            }
            match body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        let room = LARGEST - start.len();
                        start.extend_from_slice(&data[..data.len().min(room)]);
                    }
                }
                Some(Err(_)) => return false,
                None => return true,
            }
        }
        true
    };
    // Whatever came until then is what there is.
    let to_its_end = tokio::time::timeout(wait, read).await.unwrap_or(false);
    (start, to_its_end)
}

fn reason(status: StatusCode, headers: &HeaderMap, body: &str) -> String {
    let mut reason = status.as_u16().to_string();
    if let Some(words) = status.canonical_reason() {
        let _ = write!(reason, " {words}");
    }
    if status.is_redirection() {
        match headers.get(LOCATION).map(|place| place.as_bytes()) {
            Some(place) => {
                let place = shown(&String::from_utf8_lossy(place));
                let _ = write!(
                    reason,
                    ": points to {place}, which is not followed; set the destination's url to it if that is right"
                );
            }
            None => reason.push_str(": a redirect, which is not followed"),
        }
        return reason;
    }
    if let Some(packed) = packed(headers).filter(|_| !body.is_empty()) {
        let _ = write!(reason, " ({packed})");
        return reason;
    }
    let body = printable(body);
    if !body.is_empty() {
        let _ = write!(reason, ": {body}");
    }
    reason
}

/// Of a body that is packed, how. Nothing is ever unpacked: a kilobyte may become a gigabyte.
fn packed(headers: &HeaderMap) -> Option<String> {
    let packed = headers.get(CONTENT_ENCODING)?.as_bytes();
    let packed = (!packed.eq_ignore_ascii_case(b"identity")).then(|| String::from_utf8_lossy(packed))?;
    Some(format!(
        "its body is packed as {} and is not read",
        printable(&packed)
    ))
}

/// A secret is longer than this, in bytes: shorter words are found in any text.
const SHORTEST_SECRET: usize = 8;

fn without_secrets(body: &[u8], sent: &[HeaderValue]) -> String {
    let mut text = String::from_utf8_lossy(body).into_owned();
    // Of `Bearer abc`, what is shown may be `abc` alone.
    let words = sent
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(str::split_whitespace);
    for secret in words.filter(|word| word.len() >= SHORTEST_SECRET) {
        text = text.replace(secret, "…");
    }
    text
}

fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    let asked = headers.get_all(RETRY_AFTER).iter();
    retry_after::longest(asked.filter_map(|value| value.to_str().ok()), date, clock::wall())
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        pin::Pin,
        task::{Context, Poll},
    };

    use hyper::body::Frame;

    use super::*;

    /// A kilobyte each time, for ever, and how often it was asked.
    struct Endless(usize);

    impl Body for Endless {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0 += 1;
            assert!(self.0 <= LARGEST / 1000 + 1, "asked too often");
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'z'; 1000])))))
        }
    }

    #[tokio::test]
    async fn a_body_is_read_to_its_limit_and_no_further() {
        let (start, to_its_end) = start_of(Endless(0), LONGEST_FAILURE).await;
        assert_eq!(start, vec![b'z'; LARGEST]);
        assert!(!to_its_end);
    }
}

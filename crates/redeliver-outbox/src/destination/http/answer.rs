//! What an answer means.

use std::{fmt::Write as _, pin::pin, task::Poll, time::Duration};

use futures_util::poll;
use http::{
    HeaderMap, Response, StatusCode, Version,
    header::{CONTENT_ENCODING, DATE, LOCATION, RETRY_AFTER},
};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Incoming};
use redeliver::{
    Class,
    address::{printable, shown},
    classify::StatusTable,
    clock, retry_after,
};

use super::{Answer, Outcome, Time, failure::NO_HTTP_SERVER, sent::Sent};
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

    /// Whether the message may have been taken, and must not be twice, although it is asked to come back: `Retry-After` says nothing of
    /// what was done before an error.
    fn is_open(&self, status: StatusCode) -> bool {
        let bare = self.statuses.class(status.as_u16(), None);
        !self.idempotent && status.is_server_error() && bare == Class::Unknown
    }
}

/// The outcome behind an answer. What was `sent` with the request and is secret is not shown, although many a page of an error shows it.
pub(super) fn judge(answer: &Response<Incoming>, read: &Read, reading: Reading, sent: &Sent) -> Outcome {
    match answer.status().is_success() {
        true => Outcome::Delivered,
        false => failed(answer, reading, &read.start, sent),
    }
}

/// As much of the body of an answer as was read.
pub(super) struct Read {
    /// Its first bytes, if somebody wants them.
    start: Vec<u8>,
    /// Whether there is nothing left of it on its connection.
    pub(super) to_its_end: bool,
}

/// An answer as a person may see it.
pub(super) fn told(answer: &Response<Incoming>, read: &Read, sent: &Sent) -> Answer {
    Answer {
        status: answer.status().as_u16(),
        protocol: match answer.version() {
            Version::HTTP_2 => "HTTP/2",
            Version::HTTP_10 => "HTTP/1.0",
            _ => "HTTP/1.1",
        },
        said: match packed(answer.headers()) {
            Some(packed) if !read.start.is_empty() => format!("({packed})"),
            _ => printable(&sent.left_out_of(&read.start)),
        },
    }
}

fn failed(answer: &Response<Incoming>, reading: Reading, body: &[u8], sent: &Sent) -> Outcome {
    let status = answer.status();
    let reason = reason(status, answer.headers(), body, sent);
    let asked = asked_wait(answer.headers());
    if asked.is_some() && reading.is_open(status) {
        return Outcome::Ambiguous { reason, asked };
    }
    match reading.class(status, asked) {
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

/// Reads the body of an answer, as far as it comes in what is left of the attempt's `time`. It is kept for a failure, or if it is to be
/// `told`.
pub(super) async fn read(answer: &mut Response<Incoming>, told: bool, time: Time) -> Read {
    let succeeded = answer.status().is_success();
    let longest = match succeeded {
        true => LONGEST_SUCCESS,
        false => LONGEST_FAILURE,
    };
    let mut start = Vec::new();
    let shown = (told || !succeeded).then_some(&mut start);
    let to_its_end = read_body(answer.body_mut(), shown, || longest.min(time.left())).await;
    Read { start, to_its_end }
}

/// Whether it came to its end. Dropped before that, it takes its connection with it.
async fn read_body(
    body: &mut (impl Body<Data = Bytes> + Unpin),
    mut start: Option<&mut Vec<u8>>,
    wait: impl FnOnce() -> Duration,
) -> bool {
    let mut length = 0;
    let mut reading = pin!(async {
        while !body.is_end_stream() {
            if length >= LARGEST {
                return false;
            }
            match body.frame().await {
                Some(Ok(frame)) => {
                    let data: &[u8] = frame.data_ref().map_or(&[], |data| data);
                    if let Some(start) = &mut start {
                        start.extend_from_slice(&data[..data.len().min(LARGEST - length)]);
                    }
                    length += data.len();
                }
                Some(Err(_)) => return false,
                None => return true,
            }
        }
        true
    });
    // Most come with their head, and are there once the connection had its turn: a timer would cost more than the rest of it.
    if let Poll::Ready(to_its_end) = poll!(reading.as_mut()) {
        return to_its_end;
    }
    tokio::task::yield_now().await;
    if let Poll::Ready(to_its_end) = poll!(reading.as_mut()) {
        return to_its_end;
    }
    // Whatever came until then is what there is.
    tokio::time::timeout(wait(), reading).await.unwrap_or(false)
}

fn reason(status: StatusCode, headers: &HeaderMap, body: &[u8], sent: &Sent) -> String {
    let mut reason = status.as_u16().to_string();
    if let Some(words) = status.canonical_reason() {
        let _ = write!(reason, " {words}");
    }
    if status.is_redirection() {
        match headers.get(LOCATION).map(|place| place.as_bytes()) {
            Some(place) => {
                let place = shown(&sent.left_out_of(place));
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
    let body = printable(&sent.left_out_of(body));
    if !body.is_empty() {
        let _ = write!(reason, ": {body}");
    }
    reason
}

/// What of a reason the other side said: what comes behind the status, or what a server said that speaks no HTTP.
pub(super) fn words(reason: &str) -> &str {
    let is_status = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let behind_status =
        reason
            .get(..3)
            .filter(|status| is_status(status))
            .and_then(|_| match reason.find([':', '(']) {
                Some(at) if reason[at..].starts_with(": ") => reason.get(at + 2..),
                Some(at) => reason.get(at..),
                None => None,
            });
    let behind_stranger = || reason.split_once(NO_HTTP_SERVER).map(|(_, said)| said);
    behind_status.or_else(behind_stranger).unwrap_or_default()
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

fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    let asked = headers.get_all(RETRY_AFTER).iter();
    retry_after::longest(asked.filter_map(|value| value.to_str().ok()), date, clock::wall())
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, pin::Pin, task::Context};

    use hyper::body::Frame;

    use super::*;

    #[test]
    fn what_the_other_side_said_is_told_from_what_we_say() {
        let sent = Sent::default();
        let mut headers = HeaderMap::new();
        let told = |headers: &HeaderMap| reason(StatusCode::NOT_FOUND, headers, b"no: 7 (x)", &sent);
        assert_eq!(words(&told(&headers)), "no: 7 (x)");
        headers.insert(CONTENT_ENCODING, "gzip".parse().unwrap());
        assert_eq!(
            words(&told(&headers)),
            "(its body is packed as gzip and is not read)"
        );
        headers.insert(LOCATION, "https://elsewhere/".parse().unwrap());
        let moved = reason(StatusCode::FOUND, &headers, b"", &sent);
        assert!(
            words(&moved).starts_with("points to https://elsewhere/"),
            "{moved}"
        );
        assert_eq!(words("404 Not Found"), "");
        assert_eq!(words("cannot connect to https://h: connection refused"), "");
        let stranger = format!("what is at https://h{NO_HTTP_SERVER}\"SSH\"");
        assert_eq!(words(&stranger), "\"SSH\"");
    }

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
        let mut start = Vec::new();
        let to_its_end = read_body(&mut Endless(0), Some(&mut start), || LONGEST_FAILURE).await;
        assert_eq!(start, vec![b'z'; LARGEST]);
        assert!(!to_its_end);
    }
}

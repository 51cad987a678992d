//! Bodies: requests read within a limit, answers that are slow, huge or endless.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::StatusCode;
use hyper::body::{Frame, Incoming};

use super::reply::Refusal;
use super::wait::Pace;

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

const CHUNK: usize = 64 * 1024;
static FILLER: [u8; CHUNK] = [b'x'; CHUNK];

pub(crate) fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).boxed_unsync()
}

/// Reads the whole request body, at most `limit` bytes of it.
pub(crate) async fn read(body: Incoming, limit: usize) -> Result<Bytes, Refusal> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the request body is larger than the {limit} bytes this server reads"),
        )),
        Err(error) => Err(Refusal::bad_request(format!(
            "the request body could not be read: {error}"
        ))),
    }
}

/// One byte at a time.
pub(crate) fn slow(bytes: u64, every: Duration) -> Body {
    filled(Some(bytes), 1, every)
}

/// `bytes` in large chunks, as fast as they are taken.
pub(crate) fn huge(bytes: u64) -> Body {
    filled(Some(bytes), CHUNK, Duration::ZERO)
}

/// Large chunks until the client goes away.
pub(crate) fn endless(every: Duration) -> Body {
    filled(None, CHUNK, every)
}

fn filled(bytes: Option<u64>, chunk: usize, every: Duration) -> Body {
    let start = (bytes, Pace::new(every));
    let frames = stream::unfold(start, move |(left, mut pace)| async move {
        let size = left.map_or(chunk, |left| usize::try_from(left).unwrap_or(chunk).min(chunk));
        if size == 0 {
            return None;
        }
        pace.step().await;
        let frame = Frame::data(Bytes::from_static(&FILLER[..size]));
        Some((Ok(frame), (left.map(|left| left - size as u64), pace)))
    });
    StreamBody::new(frames).boxed_unsync()
}

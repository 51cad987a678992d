//! `text/event-stream` as the HTML standard defines it, read as it comes.

use std::{fmt, mem, time::Duration};

/// An event may have this many bytes unless one says otherwise.
pub const DEFAULT_MAX_EVENT_SIZE: usize = 1024 * 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent {
    /// Its type; `message` where the stream names none.
    pub event_type: String,
    /// Its data, lines separated by `\n`.
    pub data: String,
    /// The id that a reconnection after it goes on from; empty if there never was one.
    pub id: String,
}

/// An event is larger than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTooLarge {
    /// The most bytes allowed.
    pub limit: usize,
}

impl fmt::Display for EventTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event is larger than the {} bytes allowed", self.limit)
    }
}

impl std::error::Error for EventTooLarge {}

/// Makes events of bytes, wherever the network cuts them.
///
/// ```
/// use redeliver::sse::Parser;
///
/// let mut parser = Parser::new(1024);
/// let mut first: &[u8] = b"id: 7\ndata: hel";
/// assert_eq!(parser.feed(&mut first), Ok(None));
/// let mut rest: &[u8] = b"lo\n\ndata: next";
/// let event = parser.feed(&mut rest).unwrap().unwrap();
/// assert_eq!((event.id.as_str(), event.data.as_str()), ("7", "hello"));
/// assert_eq!(rest, b"data: next"); // left for the next call
/// ```
#[derive(Clone, Debug)]
pub struct Parser {
    limit: usize,
    /// The line so far.
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed now is the rest of the same line end.
    after_return: bool,
    /// No line has ended yet, so that a byte order mark may stand before this one.
    at_start: bool,
    data: String,
    event_type: String,
    id: String,
    last_event_id: String,
    retry: Option<Duration>,
}

impl Parser {
    /// A parser at the beginning of a stream, whose events have at most `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            at_start: true,
            data: String::new(),
            event_type: String::new(),
            id: String::new(),
            last_event_id: String::new(),
            retry: None,
        }
    }

    /// Goes on from the id that an earlier connection came to.
    #[must_use]
    pub fn resumed(mut self, last_event_id: &str) -> Self {
        last_event_id.clone_into(&mut self.id);
        last_event_id.clone_into(&mut self.last_event_id);
        self
    }

    /// The id of the last event that came whole, even if it had no data; empty if there was none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// The wait that a `retry:` asked for since the last call.
    pub const fn take_retry(&mut self) -> Option<Duration> {
        self.retry.take()
    }

    /// Reads on until an event is whole or the bytes are all read, and leaves the rest of them.
    ///
    /// # Errors
    /// [`EventTooLarge`], after which the stream cannot be read on.
    pub fn feed(&mut self, bytes: &mut &[u8]) -> Result<Option<SseEvent>, EventTooLarge> {
        while !bytes.is_empty() {
            if mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.data.len() + part.len() > self.limit {
                return Err(EventTooLarge { limit: self.limit });
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else {
                *bytes = &[];
                break;
            };
            self.after_return = bytes[end] == b'\r';
            *bytes = &bytes[end + 1..];
            if let Some(event) = self.line_ended() {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn line_ended(&mut self) -> Option<SseEvent> {
        let mut line = mem::take(&mut self.line);
        let marked = mem::take(&mut self.at_start) && line.starts_with(BOM);
        let text = String::from_utf8_lossy(&line[if marked { BOM.len() } else { 0 }..]);
        let event = if text.is_empty() {
            self.dispatch()
        } else {
            let (field, value) = text.split_once(':').unwrap_or((&text, ""));
            self.field(field, value.strip_prefix(' ').unwrap_or(value));
            None
        };
        drop(text);
        // The next line is likely as long.
        line.clear();
        self.line = line;
        event
    }

    fn field(&mut self, field: &str, value: &str) {
        match field {
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "event" => value.clone_into(&mut self.event_type),
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                // More milliseconds than fit are as good as for ever.
                let millis = value.parse().unwrap_or(u64::MAX);
                self.retry = Some(Duration::from_millis(millis));
            }
            // A comment has an empty name, and unknown fields are ignored.
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        self.id.clone_into(&mut self.last_event_id);
        let event_type = mem::take(&mut self.event_type);
        let mut data = mem::take(&mut self.data);
        if data.is_empty() {
            return None;
        }
        data.pop();
        Some(SseEvent {
            event_type: if event_type.is_empty() {
                "message".to_owned()
            } else {
                event_type
            },
            data,
            id: self.id.clone(),
        })
    }
}

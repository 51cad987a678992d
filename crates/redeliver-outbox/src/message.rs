//! What is kept and delivered: a message, its id, its payload.

use std::{fmt, str::FromStr};

use bytes::Bytes;

use crate::{NewMessage, Timestamp};

/// The id under which a message is known everywhere: to its sender, to the operator and to its destination, on every attempt.
///
/// It is a UUID (version 8) made of the row's number and of random bits that the row was given when it was inserted. The number makes
/// it sortable and finds its row without an index; the random bits keep it unique when a database is restored from a backup and
/// hands out numbers a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    number: i64,
    salt: i64,
}

const NUMBER_BITS: u32 = 60;
const SALT_BITS: u32 = 62;
const SALT_MASK: i64 = (1 << SALT_BITS) - 1;

impl MessageId {
    /// The id of the row with this number and salt. Of the salt, the lowest 62 bits count.
    #[must_use]
    pub const fn new(number: i64, salt: i64) -> Self {
        Self {
            number: number & ((1 << NUMBER_BITS) - 1),
            salt: salt & SALT_MASK,
        }
    }

    /// The random part of a new message.
    pub(crate) fn draw_salt() -> i64 {
        Self::new(0, redeliver::entropy::draw().cast_signed()).salt()
    }

    /// The number of the row.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.number
    }

    /// The random part.
    #[must_use]
    pub const fn salt(self) -> i64 {
        self.salt
    }

    /// The 128 bits of the UUID.
    pub(crate) fn bits(self) -> u128 {
        let (number, salt) = (self.number.cast_unsigned(), self.salt.cast_unsigned());
        let high = number >> 12 << 16 | 0x8000 | number & 0xfff;
        let low = 1 << 63 | salt;
        u128::from(high) << 64 | u128::from(low)
    }

    /// The id as it is written. Every attempt needs it, and the formatter takes its time.
    pub(crate) fn text(self) -> IdText {
        let mut text = [b'-'; 36];
        let mut places = (0..36).filter(|place| ![8, 13, 18, 23].contains(place));
        for byte in self.bits().to_be_bytes() {
            for digit in [byte >> 4, byte & 0xf] {
                if let Some(place) = places.next() {
                    text[place] = b"0123456789abcdef"[usize::from(digit)];
                }
            }
        }
        IdText(text)
    }
}

/// The 36 characters of an id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdText([u8; 36]);

impl IdText {
    pub(crate) fn as_str(&self) -> &str {
        // Digits and hyphens are text.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

/// A text that is no message id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no message id: it looks like 00000000-0000-802a-9f86-d081884c7d65, or is the number of a row, like 42"
)]
pub struct NoMessageId(String);

impl FromStr for MessageId {
    type Err = NoMessageId;

    fn from_str(text: &str) -> Result<Self, NoMessageId> {
        let refuse = || NoMessageId(text.chars().take(64).collect());
        let shape = [8, 4, 4, 4, 12];
        let groups: Vec<&str> = text.split('-').collect();
        let digits = |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
        let right = groups.len() == shape.len()
            && (groups.iter().zip(shape)).all(|(group, length)| digits(group, length));
        // As it is in the trace of a message that was given none.
        if !right && !digits(text, 32) {
            return Err(refuse());
        }
        let bits = u128::from_str_radix(&groups.concat(), 16).map_err(|_| refuse())?;
        if bits >> 76 & 0xf != 8 || bits >> 62 & 0b11 != 0b10 {
            return Err(refuse());
        }
        let number = (bits >> 80) << 12 | bits >> 64 & 0xfff;
        Ok(Self::new(number as i64, (bits & SALT_MASK as u128) as i64))
    }
}

/// What is delivered, byte for byte as it was inserted.
#[derive(Clone, PartialEq, Eq)]
pub enum Payload {
    /// Text, JSON most of the time.
    Text(String),
    /// Any bytes.
    Binary(Bytes),
}

impl Payload {
    /// The bytes that the destination receives.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }

    /// The text, where it is some.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Binary(bytes) => std::str::from_utf8(bytes).ok(),
        }
    }

    /// How long it is, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Text where the bytes are text that every database keeps exactly, bytes otherwise (NUL is none of PostgreSQL's text).
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes: Bytes = bytes.into();
        match std::str::from_utf8(&bytes) {
            Ok(text) if !text.contains('\0') => Self::Text(text.to_owned()),
            _ => Self::Binary(bytes),
        }
    }

    /// The same as two columns: the text one and the binary one.
    #[must_use]
    pub fn columns(&self) -> (Option<&str>, Option<&[u8]>) {
        match self {
            Self::Text(text) if !text.contains('\0') => (Some(text), None),
            other => (None, Some(other.as_bytes())),
        }
    }

    /// What two columns hold; an empty text if they hold nothing, which the tables do not allow.
    #[must_use]
    pub fn from_columns(text: Option<String>, binary: Option<Vec<u8>>) -> Self {
        match (text, binary) {
            (_, Some(bytes)) => Self::Binary(bytes.into()),
            (text, None) => Self::Text(text.unwrap_or_default()),
        }
    }
}

/// Only the length: a payload may hold what no log should.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if matches!(self, Self::Text(_)) {
            "Text"
        } else {
            "Binary"
        };
        write!(f, "Payload::{kind}({} bytes)", self.len())
    }
}

impl From<String> for Payload {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from_bytes(bytes)
    }
}

/// A live message, as the hot table holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id, the same on every attempt.
    pub id: MessageId,
    /// The shard that the database put it in.
    pub shard: u16,
    /// The name of its destination; empty if it is an event, which goes where the routes of its topic lead.
    pub destination: String,
    /// What it is about, in words with dots between them.
    pub topic: Option<String>,
    /// Its ordering key: with its destination, its lane.
    pub key: Option<String>,
    /// What is delivered.
    pub payload: Payload,
    /// The type of the payload, where the sender gave one.
    pub content_type: Option<String>,
    /// A JSON object of header names and values, as the sender wrote it: not yet known to be valid.
    pub headers: Option<String>,
    /// The W3C trace context of the transaction that inserted it.
    pub traceparent: Option<String>,
    /// Not delivered before this time.
    pub not_before: Option<Timestamp>,
    /// Not delivered after this time.
    pub expires_at: Option<Timestamp>,
    /// When it was inserted.
    pub created_at: Timestamp,
    /// How many attempts have been counted since it was inserted or redriven.
    pub attempts: u32,
    /// How often an operator has put it back.
    pub redrives: u32,
    /// When its next attempt is due; none while it has never been scheduled.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was last attempted.
    pub last_attempt_at: Option<Timestamp>,
    /// What the last attempt met.
    pub last_error: Option<String>,
    /// How long it waited before its last attempt, in milliseconds: some kinds of jitter go on from there.
    pub last_wait_ms: u64,
    /// Whether its last attempt was counted before the send, by a relay that did not write how it ended.
    pub interrupted: bool,
    /// How many bytes it has, if they are too many to be read: then payload and headers are empty, and other texts may be cut.
    pub withheld: Option<u64>,
    /// Whether its key is no Unicode text. Then `key` has replacement characters and names no lane.
    pub unreadable_key: bool,
}

impl Message {
    /// A message that is in no outbox, as its destination would get it with its first attempt: to try a destination out.
    #[must_use]
    pub fn of(new: &NewMessage, id: MessageId, created_at: Timestamp) -> Self {
        Self {
            id,
            shard: 0,
            destination: new.destination.clone(),
            topic: new.topic.clone(),
            key: new.key.clone(),
            payload: new.payload.clone(),
            content_type: new.content_type.clone(),
            headers: new.headers_json(),
            traceparent: new.traceparent.clone(),
            not_before: None,
            expires_at: None,
            created_at,
            attempts: 0,
            redrives: 0,
            next_attempt_at: None,
            last_attempt_at: None,
            last_error: None,
            last_wait_ms: 0,
            interrupted: false,
            withheld: None,
            unreadable_key: false,
        }
    }

    /// The row's number: within a lane, the order.
    #[must_use]
    pub const fn number(&self) -> i64 {
        self.id.number()
    }

    /// Whether it is an event: not to be sent, but to become a message for each destination of its topic.
    #[must_use]
    pub const fn is_event(&self) -> bool {
        self.destination.is_empty()
    }

    /// What it weighs in memory, near enough for a limit.
    #[must_use]
    pub fn weight(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        size_of::<Self>()
            + self.payload.len()
            + self.destination.len()
            + text(&self.topic)
            + text(&self.key)
            + text(&self.headers)
            + text(&self.last_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_that_tells_its_number() {
        for (number, salt) in [
            (0, 0),
            (42, -1),
            (1, 1),
            ((1 << 60) - 1, i64::MIN),
            (123_456_789_012, 0x1234_5678_9abc),
        ] {
            let id = MessageId::new(number, salt);
            let text = id.to_string();
            assert_eq!(text.len(), 36, "{text}");
            assert_eq!(text.as_bytes()[14], b'8');
            assert!(matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{text}");
            assert_eq!(text.parse::<MessageId>(), Ok(id), "{text}");
            let in_a_trace = text.replace('-', "");
            assert_eq!(in_a_trace.parse::<MessageId>(), Ok(id), "{in_a_trace}");
            assert_eq!(id.number(), number);
        }
    }

    #[test]
    fn ids_sort_as_their_rows_do() {
        let (early, late) = (MessageId::new(9, -1), MessageId::new(10, 0));
        assert!(early < late && early.to_string() < late.to_string());
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in [
            "",
            "42",
            "00000000-0000-402a-9f86-d081884c7d65",
            "00000000-0000-802a-1f86-d081884c7d65",
            "0000000000000-802a-9f86-d081884c7d65",
        ] {
            assert!(text.parse::<MessageId>().is_err(), "{text}");
        }
    }

    #[test]
    fn nul_and_broken_text_go_to_the_binary_column() {
        assert_eq!(Payload::from("a\0b").columns(), (None, Some(&b"a\0b"[..])));
        assert_eq!(
            Payload::from_bytes(vec![0xff, 0xfe]).columns(),
            (None, Some(&[0xff, 0xfe][..]))
        );
        assert_eq!(
            Payload::from_bytes("🦀".as_bytes().to_vec()).columns(),
            (Some("🦀"), None)
        );
        assert_eq!(Payload::from("").columns(), (Some(""), None));
    }
}

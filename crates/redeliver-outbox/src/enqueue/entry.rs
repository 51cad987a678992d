use super::{NewMessage, Parameter, new_message::Due};
use crate::{MessageId, millis_up};

/// A message on its way into the outbox.
pub(super) struct Entry<'a> {
    pub(super) message: &'a NewMessage,
    pub(super) salt: i64,
    pub(super) fate: Fate,
}

/// What has become of it so far.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Open,
    Inserted(i64),
    Duplicate(Option<MessageId>),
    /// Another message before it in the same call has the same de-duplication key.
    Repeats(usize),
}

impl<'a> Entry<'a> {
    pub(super) fn new(message: &'a NewMessage, fate: Fate) -> Self {
        let salt = MessageId::draw_salt();
        Self { message, salt, fate }
    }

    pub(super) fn key(&self) -> Option<&'a str> {
        self.message.deduplication_key.as_deref()
    }

    /// What it weighs in a statement, near enough for a limit.
    pub(super) fn weight(&self) -> usize {
        let headers = self.message.headers.iter();
        self.message.payload.len()
            + headers
                .map(|(name, value)| name.len() + value.len())
                .sum::<usize>()
    }

    /// The values of one row, in the order of `insert.sql`.
    pub(super) fn columns(&self) -> [Parameter<'a>; 13] {
        let message = self.message;
        let text = |text: &'a Option<String>| Parameter::Text(text.as_deref().map(Into::into));
        let (payload, binary) = message.payload.columns();
        let (due_at, due_in) = times(message.due);
        let (expires_at, expires_in) = times(message.expiry);
        [
            Parameter::integer(self.salt),
            Parameter::text(&message.destination),
            text(&message.topic),
            text(&message.key),
            Parameter::Text(payload.map(Into::into)),
            Parameter::Binary(binary.map(Into::into)),
            text(&message.content_type),
            Parameter::Text(message.headers_json().map(Into::into)),
            text(&message.traceparent),
            due_at,
            due_in,
            expires_at,
            expires_in,
        ]
    }
}

/// A time, or a wait that the database adds to its own clock; both in milliseconds.
fn times(due: Due) -> (Parameter<'static>, Parameter<'static>) {
    let (at, after) = match due {
        Due::Unset => (None, None),
        Due::At(time) => (Some(time.as_millis()), None),
        Due::After(duration) => (None, Some(millis_up(duration))),
    };
    (Parameter::Integer(at), Parameter::Integer(after))
}

//! The columns of a row, taken from left to right, whatever the database.

use super::{LaneId, Result, StoreError, StoreErrorKind};
use crate::{Message, MessageId, Payload, Timestamp};

/// A row that is being read. Every statement that means the same names the same columns in the same order in each database.
pub(super) trait Columns {
    /// A number or a truth value.
    fn integer(&mut self) -> Result<Option<i64>>;

    /// A text.
    fn text(&mut self) -> Result<Option<String>>;

    /// A text, and whether it is exactly what the database holds.
    fn exact_text(&mut self) -> Result<(Option<String>, bool)> {
        Ok((self.text()?, true))
    }

    /// A time.
    fn time(&mut self) -> Result<Option<Timestamp>>;

    /// The payload in two columns, the text and the bytes; none if both are empty.
    fn payload(&mut self) -> Result<Option<Payload>>;
}

/// What is made of columns.
pub(super) trait Known: Columns {
    /// A number that is always there.
    fn number(&mut self) -> Result<i64> {
        known(self.integer()?)
    }

    /// How many. What is out of range is none.
    fn count<T: TryFrom<i64> + Default>(&mut self) -> Result<T> {
        Ok(T::try_from(self.number()?).unwrap_or_default())
    }

    /// How often something was done, which one more never makes too many: a producer may have written anything.
    fn times(&mut self) -> Result<u32> {
        let most = i64::from(i32::MAX);
        Ok(u32::try_from(self.number()?.clamp(0, most)).unwrap_or_default())
    }

    /// A truth value that is always there.
    fn flag(&mut self) -> Result<bool> {
        Ok(self.number()? != 0)
    }

    /// A text that is always there.
    fn known_text(&mut self) -> Result<String> {
        known(self.text()?)
    }

    /// A time that is always there.
    fn known_time(&mut self) -> Result<Timestamp> {
        known(self.time()?)
    }

    /// A number and a salt.
    fn id(&mut self) -> Result<MessageId> {
        Ok(MessageId::new(self.number()?, self.number()?))
    }

    /// A destination and a key.
    fn lane(&mut self) -> Result<LaneId> {
        Ok(LaneId {
            destination: self.known_text()?,
            key: self.known_text()?,
        })
    }
}

impl<C: Columns + ?Sized> Known for C {}

/// A row of the hot table, as every `read_….sql` names its columns.
pub(super) fn message(row: &mut dyn Columns) -> Result<Message> {
    let (id, shard, destination, topic) = (row.id()?, row.count()?, row.known_text()?, row.text()?);
    let (key, exact) = row.exact_text()?;
    Ok(Message {
        id,
        shard,
        destination,
        topic,
        key,
        unreadable_key: !exact,
        payload: row.payload()?.unwrap_or_else(|| Payload::from("")),
        content_type: row.text()?,
        headers: row.text()?,
        traceparent: row.text()?,
        not_before: row.time()?,
        expires_at: row.time()?,
        created_at: row.known_time()?,
        attempts: row.times()?,
        redrives: row.times()?,
        next_attempt_at: row.time()?,
        last_attempt_at: row.time()?,
        last_error: row.text()?,
        last_wait_ms: row.count()?,
        interrupted: row.flag()?,
        withheld: row.integer()?.map(|size| u64::try_from(size).unwrap_or(0)),
    })
}

fn known<T>(value: Option<T>) -> Result<T> {
    value.ok_or_else(|| {
        let what = "a column of the outbox's tables that always has a value has none";
        StoreError::new(StoreErrorKind::Other, what)
    })
}

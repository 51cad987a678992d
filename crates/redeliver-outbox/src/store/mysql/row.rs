//! Values on their way in and out.

use std::time::Duration;

use mysql_async::{Row, Value, prelude::FromValue};
use serde_json::json;

use crate::{
    MessageId, Payload, Timestamp, limits, millis_up,
    store::{Result, StoreError, StoreErrorKind, columns::Columns},
};

/// The columns of a row, taken from left to right.
pub(super) struct MySqlColumns {
    row: Row,
    next: usize,
}

impl MySqlColumns {
    pub(super) const fn of(row: Row) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn take<T: FromValue>(&mut self) -> Result<T> {
        let place = self.next;
        self.next += 1;
        match self.row.take_opt(place) {
            Some(Ok(value)) => Ok(value),
            _ => Err(unreadable(place)),
        }
    }
}

impl Columns for MySqlColumns {
    fn integer(&mut self) -> Result<Option<i64>> {
        self.take()
    }

    /// The server takes surrogates for characters, which no text in Rust can have: they are read as replacement characters, so that one
    /// such row does not keep all others from being read.
    fn text(&mut self) -> Result<Option<String>> {
        Ok(self.exact_text()?.0)
    }

    fn exact_text(&mut self) -> Result<(Option<String>, bool)> {
        let place = self.next;
        match self.take::<Value>()? {
            Value::NULL => Ok((None, true)),
            Value::Bytes(bytes) => Ok(readable(bytes)),
            _ => Err(unreadable(place)),
        }
    }

    fn time(&mut self) -> Result<Option<Timestamp>> {
        let place = self.next;
        match self.take::<Value>()? {
            Value::NULL => Ok(None),
            Value::Date(year, month, day, hour, minute, second, micros) => {
                let date = [year.into(), month.into(), day.into()];
                Ok(Some(timestamp(
                    date,
                    [hour.into(), minute.into(), second.into()],
                    i64::from(micros / 1000),
                )))
            }
            // As in answers to statements that were not prepared.
            Value::Bytes(text) => read_time(&text).map(Some).ok_or_else(|| unreadable(place)),
            _ => Err(unreadable(place)),
        }
    }

    fn payload(&mut self) -> Result<Option<Payload>> {
        Ok(match (self.text()?, self.take()?) {
            (None, None) => None,
            (text, binary) => Some(Payload::from_columns(text, binary)),
        })
    }
}

fn readable(bytes: Vec<u8>) -> (Option<String>, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), true),
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (Some(text), false)
        }
    }
}

fn unreadable(place: usize) -> StoreError {
    let what = format!(
        "column {} of an answer of the database holds what it should not",
        place + 1
    );
    StoreError::new(StoreErrorKind::Other, what)
}

fn timestamp(date: [i64; 3], time: [i64; 3], millis: i64) -> Timestamp {
    let days = days_since_1970(date[0], date[1], date[2]);
    let seconds = ((days * 24 + time[0]) * 60 + time[1]) * 60 + time[2];
    Timestamp::from_millis(seconds * 1000 + millis)
}

/// Reads `2000-02-28 23:59:59.999`, where what is behind the seconds may be missing or longer.
fn read_time(text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut numbers = whole.split(['-', ' ', ':']).map(str::parse::<i64>);
    let mut next = || numbers.next()?.ok();
    let (date, time) = ([next()?, next()?, next()?], [next()?, next()?, next()?]);
    let millis = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    Some(timestamp(date, time, millis))
}

/// Days of the proleptic Gregorian calendar, whose years are taken to begin in March so that a leap day ends its year.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// Rows as one JSON array, read by the server as a table.
pub(super) fn table(rows: impl IntoIterator<Item = serde_json::Value>) -> Value {
    rows.into_iter().collect::<serde_json::Value>().to_string().into()
}

/// As the server reads it. What no DATETIME can hold is the last one that can.
pub(super) fn datetime(time: Timestamp) -> String {
    let millis = u64::try_from(time.as_millis().clamp(0, limits::LATEST_MILLIS)).unwrap_or(0);
    redeliver::clock::timestamp(Duration::from_millis(millis))
        .replace('T', " ")
        .replace('Z', "")
}

/// Milliseconds to be added to the server's clock, at most a thousand years.
pub(super) fn delay(duration: Duration) -> i64 {
    const LONGEST: i64 = 1000 * 365 * 24 * 3_600_000;
    millis_up(duration).min(LONGEST)
}

/// Whole milliseconds that have passed.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Numbers as a JSON array, which a statement reads as a table.
pub(super) fn list(numbers: &[i64]) -> Value {
    serde_json::Value::from(numbers.to_vec()).to_string().into()
}

/// Whole ids as a JSON array. A salt is a text there: it is longer than a number of JSON may be.
pub(super) fn ids(ids: &[MessageId]) -> Value {
    table(ids.iter().map(|id| json!([id.number(), id.salt().to_string()])))
}

/// So many placeholders, rounded up so that statements of similar length are one to the server's cache; [`padded`] fills them.
pub(super) fn places(count: usize) -> String {
    vec!["?"; count.next_power_of_two()].join(", ")
}

/// The values, the last one repeated to the next power of two: in a list after IN it changes nothing.
pub(super) fn padded<T: Copy + Into<Value>>(values: &[T]) -> Vec<Value> {
    let last = values.last().copied();
    let missing = values.len().next_power_of_two() - values.len();
    let padding = last
        .into_iter()
        .flat_map(|last| std::iter::repeat_n(last, missing));
    values.iter().copied().chain(padding).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_the_way_there_and_back() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((9999, 12, 31), 2_932_896),
        ] {
            assert_eq!(days_since_1970(date.0, date.1, date.2), days, "{date:?}");
        }
        assert_eq!(
            datetime(Timestamp::from_millis(951_782_399_999)),
            "2000-02-28 23:59:59.999"
        );
        assert_eq!(
            datetime(Timestamp::from_millis(i64::MAX)),
            "9999-12-31 23:59:59.999"
        );
        assert_eq!(datetime(Timestamp::from_millis(-5)), "1970-01-01 00:00:00.000");
    }

    #[test]
    fn times_are_read_from_texts_too() {
        for (text, millis) in [
            ("2000-02-28 23:59:59.999", 951_782_399_999),
            ("2000-02-28 23:59:59", 951_782_399_000),
            ("2000-02-28 23:59:59.999999", 951_782_399_999),
            ("1970-01-01 00:00:00.5", 500),
        ] {
            assert_eq!(
                read_time(text.as_bytes()),
                Some(Timestamp::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["", "2000-02-28", "2000-02-28 23:59", "2000-02-28 23:59:xx"] {
            assert_eq!(read_time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn lists_are_padded_to_a_few_lengths() {
        assert_eq!(places(3), "?, ?, ?, ?");
        assert_eq!(padded(&[1_i64, 2, 3]).len(), 4);
        assert_eq!(padded(&[7_i64]), vec![Value::Int(7)]);
    }
}

//! Times and waits as PostgreSQL writes them.

use std::{error::Error, time::Duration};

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::{Timestamp, millis_up};

/// Between 1970, where [`Timestamp`] begins, and 2000, where `timestamptz` does.
const SHIFT_MILLIS: i64 = 946_684_800_000;
/// What a century is not enough for is for ever; more than this may be more than the database can add to its clock.
const LONGEST_WAIT_MILLIS: i64 = 100 * 365 * 86_400_000;
/// The last moment of `timestamptz`, and what is behind it is `infinity`.
const LAST_MILLIS: i64 = 9_224_318_015_999_999;

/// A `timestamptz`, `infinity` included, which a sender may well have written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time(pub(super) Timestamp);

impl<'a> FromSql<'a> for Time {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        let millis = match micros {
            i64::MIN | i64::MAX => micros,
            // Rounded up: what the database holds back until then is not due before it here.
            _ => -(-micros).div_euclid(1000) + SHIFT_MILLIS,
        };
        Ok(Self(Timestamp::from_millis(millis)))
    }

    accepts!(TIMESTAMPTZ);
}

impl ToSql for Time {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let millis = self.0.as_millis();
        let micros = if millis > LAST_MILLIS {
            i64::MAX
        } else {
            (millis.max(0) - SHIFT_MILLIS) * 1000
        };
        out.extend_from_slice(&micros.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

/// A wait that the database can add to any time that it knows.
pub(super) fn wait_millis(wait: Duration) -> i64 {
    millis_up(wait).min(LONGEST_WAIT_MILLIS)
}

/// A count for a `LIMIT`.
pub(super) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn shard(value: u16) -> i16 {
    i16::try_from(value).unwrap_or(i16::MAX)
}

/// Counters are never negative; the tables say so.
pub(super) fn count(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

pub(super) fn attempt(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(millis: i64) -> i64 {
        let mut raw = BytesMut::new();
        Time(Timestamp::from_millis(millis))
            .to_sql(&Type::TIMESTAMPTZ, &mut raw)
            .unwrap();
        Time::from_sql(&Type::TIMESTAMPTZ, &raw).unwrap().0.as_millis()
    }

    #[test]
    fn times_are_the_same_after_a_round_trip() {
        for millis in [0, 1, SHIFT_MILLIS - 1, SHIFT_MILLIS, 1_800_000_000_123, i64::MAX] {
            assert_eq!(round(millis), millis);
        }
    }

    #[test]
    fn a_part_of_a_millisecond_counts_whole() {
        for (micros, millis) in [(1, 1), (1000, 1), (1001, 2), (-1, 0), (-1000, -1), (-1001, -1)] {
            let time = Time::from_sql(&Type::TIMESTAMPTZ, &i64::to_be_bytes(micros)).unwrap();
            assert_eq!(time.0.as_millis() - SHIFT_MILLIS, millis, "{micros}");
        }
    }
}

//! Points in time as people and databases write them.

use std::str::FromStr;

use crate::Timestamp;

/// A text that is no point in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no time such as 2026-11-15T20:30:00Z")]
pub struct NoTimestamp;

/// RFC 3339, where the time of day, its seconds and the zone may be left out: UTC unless it says otherwise.
impl FromStr for Timestamp {
    type Err = NoTimestamp;

    fn from_str(text: &str) -> Result<Self, NoTimestamp> {
        instant(text).ok_or(NoTimestamp)
    }
}

fn instant(text: &str) -> Option<Timestamp> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (
        digits(parts.next()?, 4)?,
        digits(parts.next()?, 2)?,
        digits(parts.next()?, 2)?,
    );
    if parts.next().is_some() || year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let days = days_before(year, month)? + day - 1;
    if day > days_in(year, month) {
        return None;
    }
    let millis = time.map_or(Some(0), time_of_day)?;
    Some(Timestamp::from_millis(days * 86_400_000 + millis))
}

/// Milliseconds since midnight in UTC.
fn time_of_day(text: &str) -> Option<i64> {
    let (clock, zone) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => text.split_at(at),
        None => (text, "Z"),
    };
    let mut parts = clock.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second_millis = match parts.next() {
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
            let fraction: String = fraction.chars().chain("00".chars()).take(3).collect();
            digits(whole, 2).filter(|second| *second < 60)? * 1000 + digits(&fraction, 3)?
        }
        None => 0,
    };
    if parts.next().is_some() || hour > 23 || minute > 59 {
        return None;
    }
    Some((hour * 60 + minute) * 60_000 + second_millis - offset(zone)?)
}

/// `Z`, `+01:30`, or as PostgreSQL shortens it, `+01`.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next()? {
        'Z' | 'z' => return (zone.len() == 1).then_some(0),
        '+' => 1,
        _ => -1,
    };
    let (hours, minutes) = zone[1..].split_once(':').unwrap_or((&zone[1..], "00"));
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60_000)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let right = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok()).flatten()
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970 to the first of this month.
fn days_before(year: i64, month: i64) -> Option<i64> {
    let years: i64 = (1970..year)
        .map(|year| if is_leap(year) { 366 } else { 365 })
        .sum();
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    years.checked_add(months)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for millis in [0, 951_782_400_000, 1_709_251_200_123, 4_107_542_399_999] {
            let time = Timestamp::from_millis(millis);
            assert_eq!(time.to_string().parse(), Ok(time), "{time}");
        }
    }

    #[test]
    fn a_time_may_be_short_or_elsewhere() {
        for (text, shown) in [
            ("2026-11-15", "2026-11-15T00:00:00.000Z"),
            ("2026-11-15 20:30", "2026-11-15T20:30:00.000Z"),
            ("2026-11-15T20:30:01.5+01:30", "2026-11-15T19:00:01.500Z"),
            ("2024-02-29T23:00:00-02:00", "2024-03-01T01:00:00.000Z"),
            ("2026-11-15 20:30:01.123456+00", "2026-11-15T20:30:01.123Z"),
        ] {
            let read = text.parse().map(|time: Timestamp| time.to_string());
            assert_eq!(read, Ok(shown.to_owned()));
        }
        for wrong in [
            "2026-13-01",
            "2026-02-29",
            "2026-11-15T25:00",
            "2026-11-15T1:00",
            "2026-11-15T10:00+1",
            "infinity",
            "yesterday",
            "",
            "12",
        ] {
            assert!(wrong.parse::<Timestamp>().is_err(), "{wrong}");
        }
    }
}

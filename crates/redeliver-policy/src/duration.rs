//! Durations as people write them: `200ms`, `1m 30s`, `1.5s`.

use alloc::string::String;
use core::{fmt, time::Duration};

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseDurationError {
    /// Nothing but white space.
    Empty,
    /// A number without its unit; bare numbers are refused because half of the world means seconds and half milliseconds.
    MissingUnit(String),
    /// A unit that is none of ours.
    UnknownUnit(String),
    /// Not a number where one was expected.
    NotANumber(String),
    /// Longer than 584 years.
    TooLong,
}

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty")?,
            Self::MissingUnit(number) => write!(f, "{number:?} has no unit")?,
            Self::UnknownUnit(unit) => write!(f, "unknown unit {unit:?}")?,
            Self::NotANumber(text) => write!(f, "{text:?} does not start with a number")?,
            Self::TooLong => f.write_str("longer than 584 years")?,
        }
        f.write_str("; write a duration as 200ms, 1.5s, 1m 30s or 2h (units: ns, us, ms, s, m, h, d)")
    }
}

impl core::error::Error for ParseDurationError {}

/// From short to long, as [`display`] counts down.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Reads `200ms`, `1m 30s`, `1.5s`, `0s`. Parts add up; white space between them is optional.
///
/// ```
/// # use core::time::Duration;
/// assert_eq!(redeliver_policy::duration::parse("1m 30s"), Ok(Duration::from_secs(90)));
/// assert!(redeliver_policy::duration::parse("90").is_err());
/// ```
///
/// # Errors
/// When the text is empty, a number lacks its unit, a unit is unknown, or the sum is longer than 584 years.
pub fn parse(text: &str) -> Result<Duration, ParseDurationError> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(ParseDurationError::Empty);
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if number.is_empty() {
            return Err(ParseDurationError::NotANumber(first_word(rest)));
        }
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let part = part_nanos(number, unit)?;
        total = total.checked_add(part).ok_or(ParseDurationError::TooLong)?;
        rest = after.trim_start();
    }
    Ok(Duration::from_nanos(total))
}

fn first_word(text: &str) -> String {
    text.split_whitespace()
        .next()
        .unwrap_or_default()
        .chars()
        .take(24)
        .collect()
}

fn part_nanos(number: &str, unit: &str) -> Result<u64, ParseDurationError> {
    if unit.is_empty() {
        return Err(ParseDurationError::MissingUnit(first_word(number)));
    }
    let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(ParseDurationError::UnknownUnit(first_word(unit)));
    };
    let not_a_number = || ParseDurationError::NotANumber(first_word(number));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(not_a_number());
    }
    let mut nanos: u64 = 0;
    for digit in whole.bytes() {
        let longer = nanos
            .checked_mul(10)
            .and_then(|n| n.checked_add(u64::from(digit - b'0')));
        nanos = longer.ok_or(ParseDurationError::TooLong)?;
    }
    nanos = nanos.checked_mul(scale).ok_or(ParseDurationError::TooLong)?;
    nanos
        .checked_add(fraction_nanos(fraction, scale))
        .ok_or(ParseDurationError::TooLong)
}

/// Integer arithmetic: 0.1s is 100 ms, not the float nearest to it. Digits past the 24th are too small to matter, and 24
/// of them times a day in nanoseconds still fit.
fn fraction_nanos(fraction: &str, scale: u64) -> u64 {
    let (mut numerator, mut denominator) = (0u128, 1u128);
    for digit in fraction.bytes().take(24) {
        numerator = numerator * 10 + u128::from(digit - b'0');
        denominator *= 10;
    }
    (numerator * u128::from(scale) / denominator) as u64
}

/// Shows a duration in the form that [`parse`] reads, to the nanosecond and without a fraction: `1m 30s`, `1s 500ms`.
#[must_use]
pub fn display(duration: Duration) -> impl fmt::Display {
    Shown(crate::moment::nanos(duration))
}

struct Shown(u64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        let mut separator = "";
        for (unit, scale) in UNITS.iter().rev().filter(|(unit, _)| *unit != "µs") {
            let count = rest / scale;
            rest %= scale;
            if count > 0 {
                write!(f, "{separator}{count}{unit}")?;
                separator = " ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, millis) in [
            ("200ms", 200),
            ("1m 30s", 90_000),
            ("1m30s", 90_000),
            (" 1.5s ", 1_500),
            (".5s", 500),
            ("2 h", 7_200_000),
            ("0s", 0),
            ("1d", 86_400_000),
            ("1500us", 1),
            ("0.000000001h", 0),
            ("0.041666666666666666667d", 3_600_000),
        ] {
            assert_eq!(parse(text).map(|d| d.as_millis()), Ok(millis), "{text}");
        }
    }

    #[test]
    fn names_what_is_wrong() {
        for (text, message) in [
            ("", "empty"),
            ("5", "\"5\" has no unit"),
            ("5 parsecs", "unknown unit \"parsecs\""),
            ("-1s", "\"-1s\" does not start with a number"),
            ("1..2s", "\"1..2\" does not start with a number"),
            ("999999999999d", "longer than 584 years"),
            ("s", "\"s\" does not start with a number"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }

    #[test]
    fn shows_what_it_reads() {
        assert_eq!(display(Duration::from_millis(90_500)).to_string(), "1m 30s 500ms");
        assert_eq!(display(Duration::ZERO).to_string(), "0s");
    }
}

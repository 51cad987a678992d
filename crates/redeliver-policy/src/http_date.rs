//! The three forms of an HTTP date (RFC 9110 §5.6.7), read to the second.

use core::time::Duration;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LONG_DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Reads an HTTP date as the time since 1970, or `None` if it is none of the three forms or before 1970.
///
/// `now` (also since 1970) settles the century of the two-digit year in the RFC 850 form: a date that seems more than
/// fifty years ahead is taken to be in the past, as the RFC asks.
///
/// ```
/// use core::time::Duration;
/// let now = Duration::from_secs(784_111_777);
/// for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
///     assert_eq!(redeliver_policy::http_date::parse(text, now), Some(now));
/// }
/// ```
#[must_use]
pub fn parse(text: &str, now: Duration) -> Option<Duration> {
    let text = text.trim_matches([' ', '\t']);
    let date = match text.split_once(',') {
        Some((day, rest)) if DAYS.contains(&day) => fixdate(rest)?,
        Some((day, rest)) if LONG_DAYS.contains(&day) => rfc850(rest, now)?,
        Some(_) => return None,
        None => asctime(text)?,
    };
    date.since_1970()
}

struct Date {
    year: u64,
    month: u64,
    day: u64,
    time: u64,
}

/// ` 06 Nov 1994 08:49:37 GMT`
fn fixdate(text: &str) -> Option<Date> {
    let mut words = text.strip_prefix(' ')?.split(' ');
    let day = digits(words.next()?, 2)?;
    let month = month(words.next()?)?;
    let year = digits(words.next()?, 4)?;
    let time = clock(words.next()?)?;
    (words.next() == Some("GMT") && words.next().is_none()).then_some(Date {
        year,
        month,
        day,
        time,
    })
}

/// ` 06-Nov-94 08:49:37 GMT`
fn rfc850(text: &str, now: Duration) -> Option<Date> {
    let mut words = text.strip_prefix(' ')?.split(' ');
    let mut date = words.next()?.split('-');
    let day = digits(date.next()?, 2)?;
    let month = month(date.next()?)?;
    let short = digits(date.next()?, 2)?;
    let time = clock(words.next()?)?;
    if date.next().is_some() || words.next() != Some("GMT") || words.next().is_some() {
        return None;
    }
    // A clock past the last year that a date can name says nothing about the century.
    let this_year = year_of(now).min(9999);
    let mut year = this_year - this_year % 100 + short;
    if year > this_year + 50 {
        year -= 100;
    } else if year + 50 < this_year {
        year += 100;
    }
    Some(Date {
        year,
        month,
        day,
        time,
    })
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &str) -> Option<Date> {
    let (weekday, rest) = text.split_once(' ')?;
    let (month_name, rest) = rest.split_once(' ')?;
    let (day, rest) = rest.split_at_checked(2)?;
    let day = match day.strip_prefix(' ') {
        Some(single) => digits(single, 1)?,
        None => digits(day, 2)?,
    };
    let mut words = rest.strip_prefix(' ')?.split(' ');
    let time = clock(words.next()?)?;
    let year = digits(words.next()?, 4)?;
    let whole = DAYS.contains(&weekday) && words.next().is_none();
    whole.then_some(Date {
        year,
        month: month(month_name)?,
        day,
        time,
    })
}

fn digits(text: &str, count: usize) -> Option<u64> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

fn month(name: &str) -> Option<u64> {
    MONTHS
        .iter()
        .position(|month| *month == name)
        .map(|index| index as u64 + 1)
}

/// `08:49:37` as seconds of the day; a leap second is allowed and counts as the second after.
fn clock(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let (hour, minute, second) = (
        digits(parts.next()?, 2)?,
        digits(parts.next()?, 2)?,
        digits(parts.next()?, 2)?,
    );
    let valid = parts.next().is_none() && hour < 24 && minute < 60 && second <= 60;
    valid.then_some(hour * 3600 + minute * 60 + second)
}

impl Date {
    fn since_1970(&self) -> Option<Duration> {
        let Self {
            year,
            month,
            day,
            time,
        } = *self;
        if day == 0 || day > days_in(year, month) || year < 1970 {
            return None;
        }
        Some(Duration::from_secs(days_before(year, month, day) * 86_400 + time))
    }
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the given day.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let before = year - 1;
    let leap_days = (before / 4 - before / 100 + before / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
    let months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    (year - 1970) * 365 + leap_days + months + day - 1
}

fn year_of(now: Duration) -> u64 {
    // The mean Gregorian year: right to a day, and only a fifty-year window hangs on it.
    1970 + now.as_secs() / 31_556_952
}

/// Writes the preferred form (IMF-fixdate) of a time since 1970; years past 9999 are cut to it.
#[must_use]
pub fn format(since_1970: Duration) -> impl core::fmt::Display {
    Fixdate(since_1970.as_secs().min(253_402_300_799))
}

struct Fixdate(u64);

impl core::fmt::Display for Fixdate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (weekday, time) = (DAYS[((self.0 / 86_400 + 3) % 7) as usize], self.0 % 86_400);
        let (year, month, day) = civil(self.0 / 86_400);
        let name = MONTHS[month as usize - 1];
        let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
        write!(
            f,
            "{weekday}, {day:02} {name} {year} {hour:02}:{minute:02}:{second:02} GMT"
        )
    }
}

/// Year, month and day (from 1) of a day since 1970: Howard Hinnant's days-to-civil, which counts years from March so that the leap day is the
/// last.
#[must_use]
pub const fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970.saturating_add(719_468);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + (month <= 2) as u64, month, day)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000); // January 2027

    fn seconds(text: &str) -> Option<u64> {
        parse(text, NOW).map(|since| since.as_secs())
    }

    #[test]
    fn known_dates() {
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(seconds("Fri, 31 Dec 9999 23:59:59 GMT"), Some(253_402_300_799));
        assert_eq!(seconds("Wed Feb 29 12:00:00 2040"), Some(2_214_129_600));
    }

    #[test]
    fn the_two_digit_year_is_the_nearest_one() {
        assert_eq!(seconds("Tuesday, 01-Jan-30 00:00:00 GMT"), Some(1_893_456_000));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
    }

    #[test]
    fn no_clock_is_too_wrong_for_the_century() {
        for now in [Duration::ZERO, Duration::MAX, Duration::from_secs(u64::MAX / 2)] {
            for short in 0..100 {
                let text = std::format!("Sunday, 06-Nov-{short:02} 08:49:37 GMT");
                assert!(parse(&text, now).is_none_or(|since| since < Duration::from_secs(260_000_000_000)));
            }
        }
    }

    #[test]
    fn refuses_what_is_no_date() {
        for text in [
            "",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 31 Feb 2027 00:00:00 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT x",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun Nov é6 08:49:37 1994",
            "Fri, 31 Dec 1969 23:59:59 GMT",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn what_it_writes_it_reads() {
        for since in [
            0,
            86_399,
            951_782_400,
            1_709_208_000,
            4_107_542_399,
            253_402_300_799,
        ] {
            let text = format(Duration::from_secs(since)).to_string();
            assert_eq!(seconds(&text), Some(since), "{text}");
        }
        assert_eq!(
            format(Duration::from_secs(784_111_777)).to_string(),
            "Sun, 06 Nov 1994 08:49:37 GMT"
        );
    }
}

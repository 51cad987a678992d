//! `Retry-After`: seconds or a date, made into a wait.

use core::time::Duration;

use crate::http_date;

/// The wait that a `Retry-After` header asks for, or `None` if the header makes no sense.
///
/// - Seconds may have a fraction, which is rounded up: coming back early is what the server asked us not to do. More seconds
///   than fit become the longest duration there is, which no policy accepts.
/// - A date is read against the response's own `Date` if there is one, so that a server whose clock is wrong still
///   gets the wait it meant; else against `now` (time since 1970). A date in the past is a wait of zero.
///
/// ```
/// use core::time::Duration;
/// use redeliver_policy::retry_after;
///
/// let now = Duration::from_secs(1_700_000_000);
/// assert_eq!(retry_after::parse("120", None, now), Some(Duration::from_secs(120)));
/// // The server's clock is twenty-nine years slow, but both of its dates are.
/// let (until, date) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT");
/// assert_eq!(retry_after::parse(until, Some(date), now), Some(Duration::from_secs(7)));
/// assert_eq!(retry_after::parse("-5", None, now), None);
/// ```
#[must_use]
pub fn parse(value: &str, date: Option<&str>, now: Duration) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        return seconds(value);
    }
    let until = http_date::parse(value, now)?;
    let from = date.and_then(|date| http_date::parse(date, now)).unwrap_or(now);
    Some(until.saturating_sub(from))
}

/// The longest wait that several `Retry-After` headers ask for: a proxy may have added its own to the server's.
#[must_use]
pub fn longest<'a>(
    values: impl IntoIterator<Item = &'a str>,
    date: Option<&str>,
    now: Duration,
) -> Option<Duration> {
    values
        .into_iter()
        .filter_map(|value| parse(value, date, now))
        .max()
}

fn seconds(value: &str) -> Option<Duration> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let Ok(whole) = whole.parse::<u64>() else {
        return Some(Duration::MAX);
    };
    let up = u64::from(fraction.bytes().any(|digit| digit != b'0'));
    Some(Duration::from_secs(whole.saturating_add(up)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(784_111_777);

    #[test]
    fn seconds_of_every_size() {
        for (text, expected) in [
            ("0", Some(Duration::ZERO)),
            (" 7 ", Some(Duration::from_secs(7))),
            ("1.2", Some(Duration::from_secs(2))),
            ("3.000", Some(Duration::from_secs(3))),
            ("1000000000000000000000000000000", Some(Duration::MAX)),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("1.", None),
            ("1 s", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(parse(text, None, NOW), expected, "{text:?}");
        }
    }

    #[test]
    fn of_several_waits_the_longest_is_obeyed() {
        assert_eq!(longest([], None, NOW), None);
        let longest = longest(["1", "soon", "9", "2"], None, NOW);
        assert_eq!(longest, Some(Duration::from_secs(9)));
    }

    #[test]
    fn a_date_is_measured_from_the_servers_clock_then_from_ours() {
        let until = "Sun, 06 Nov 1994 08:50:37 GMT";
        assert_eq!(parse(until, None, NOW), Some(Duration::from_secs(60)));
        assert_eq!(parse(until, Some("nonsense"), NOW), Some(Duration::from_secs(60)));
        assert_eq!(
            parse(until, Some("Sun, 06 Nov 1994 08:50:30 GMT"), NOW),
            Some(Duration::from_secs(7))
        );
        assert_eq!(
            parse("Sun, 06 Nov 1994 08:00:00 GMT", None, NOW),
            Some(Duration::ZERO)
        );
    }
}

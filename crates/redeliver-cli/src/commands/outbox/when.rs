//! Points in time, as an operator gives and reads them.

use redeliver_outbox::Timestamp;
use redeliver_policy::duration;

use crate::readable;

/// `3m ago`, `in 12s`, `now`.
pub(crate) fn relative(time: Timestamp, now: Timestamp) -> String {
    match time.cmp(&now) {
        std::cmp::Ordering::Less => format!("{} ago", readable::duration(now.since(time))),
        std::cmp::Ordering::Equal => "now".to_owned(),
        std::cmp::Ordering::Greater => format!("in {}", readable::duration(time.since(now))),
    }
}

/// `3m ago (2026-11-15T20:32:24.123Z)`.
pub(crate) fn both(time: Timestamp, now: Timestamp) -> String {
    format!("{} ({time})", relative(time, now))
}

/// A point in time from the command line: so long ago, or a date with or without a time of day.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.trim().parse() {
        return Ok(time);
    }
    let ago = duration::parse(text).map_err(|_| {
        "write how long ago, such as 2h, or a time, such as 2026-11-15 or 2026-11-15T20:30:00Z (UTC unless it says otherwise)"
            .to_owned()
    })?;
    let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_millis(
        Timestamp::wall().as_millis().saturating_sub(ago),
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_is_given_by_its_date_or_its_distance() {
        assert_eq!(
            parse(" 2026-11-15 20:30 ").map(|time| time.to_string()),
            Ok("2026-11-15T20:30:00.000Z".to_owned())
        );
        for wrong in ["2026-13-01", "yesterday", "", "12"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let hour_ago = parse("1h").unwrap();
        assert!(Timestamp::wall().since(hour_ago) >= Duration::from_secs(3600));
    }

    #[test]
    fn a_time_is_told_by_its_distance() {
        let now = Timestamp::from_millis(100_000);
        assert_eq!(relative(Timestamp::from_millis(40_000), now), "1m ago");
        assert_eq!(relative(Timestamp::from_millis(112_500), now), "in 12.5s");
        assert_eq!(both(now, now), "now (1970-01-01T00:01:40.000Z)");
    }
}

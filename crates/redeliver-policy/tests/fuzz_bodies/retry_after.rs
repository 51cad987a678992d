//! Eight bytes of clock, then a `Retry-After` and, on the next line, a `Date`.

use std::time::Duration;

use redeliver_policy::{http_date, retry_after::parse};

pub(crate) fn run(data: &[u8]) {
    let Some((clock, headers)) = data.split_first_chunk::<8>() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(headers) else {
        return;
    };
    let now = Duration::from_secs(u64::from_le_bytes(*clock));
    let (value, date) = match text.split_once('\n') {
        Some((value, date)) => (value, Some(date)),
        None => (text, None),
    };
    let wait = parse(value, date, now);
    if let Some(seconds) = wait.filter(|_| value.bytes().all(|byte| byte.is_ascii_digit())) {
        assert!(
            value
                .parse::<u64>()
                .map_or(seconds == Duration::MAX, |given| seconds.as_secs() == given)
        );
    }
    // The server's own clock is all that counts, if it tells it: ours may be anything.
    let (Some(until), Some(from)) = (
        http_date::parse(value, now),
        date.and_then(|date| http_date::parse(date, now)),
    ) else {
        return;
    };
    assert_eq!(wait, Some(until.saturating_sub(from)), "{text:?}");
}

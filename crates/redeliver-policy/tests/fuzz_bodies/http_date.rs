//! Eight bytes of clock, then a date: what is read is written in a form that reads the same.

use std::time::Duration;

use redeliver_policy::http_date::{format, parse};

pub(crate) fn run(data: &[u8]) {
    let Some((clock, date)) = data.split_first_chunk::<8>() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(date) else {
        return;
    };
    let now = Duration::from_secs(u64::from_le_bytes(*clock));
    if let Some(since) = parse(text, now) {
        // A leap second on the last day of the last year is the one moment past what can be written.
        let written = since.min(Duration::from_secs(253_402_300_799));
        assert_eq!(parse(&format(since).to_string(), now), Some(written), "{text:?}");
    }
}

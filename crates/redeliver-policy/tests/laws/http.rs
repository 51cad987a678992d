//! Laws of what comes from outside as text: durations, dates, `Retry-After`.

use std::time::Duration;

use proptest::prelude::*;
use redeliver_policy::{
    classify::{StatusTable, by_text},
    duration, http_date, retry_after,
};

use crate::strategies::any_duration;

/// The end of the year 9999, the last that a date can name.
const LAST: u64 = 253_402_300_799;
const LONG_DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];

/// The other two forms of the date that `format` writes.
fn other_forms(since: u64) -> (String, String) {
    let fixdate = http_date::format(Duration::from_secs(since)).to_string();
    let words: Vec<&str> = fixdate
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let [weekday, day, month, year, time, zone] = words[..] else {
        unreachable!("{fixdate}")
    };
    let long = LONG_DAYS[(since / 86_400 % 7) as usize];
    let asctime = format!(
        "{weekday} {month} {:>2} {time} {year}",
        day.trim_start_matches('0')
    );
    (
        format!("{long}, {day}-{month}-{} {time} {zone}", &year[2..]),
        asctime,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_duration_reads_back_as_it_was_shown(nanos in any::<u64>(), small in 0u64..100_000_000_000) {
        for nanos in [nanos, small, nanos >> (small % 64)] {
            let shown = duration::display(Duration::from_nanos(nanos)).to_string();
            prop_assert_eq!(duration::parse(&shown), Ok(Duration::from_nanos(nanos)), "{}", shown);
            prop_assert_eq!(duration::parse(&shown.replace(' ', "")), Ok(Duration::from_nanos(nanos)));
        }
    }

    #[test]
    fn a_fraction_is_cut_to_the_nanosecond_and_no_further(
        whole in 0u64..1_000, digits in "[0-9]{0,20}", unit in prop::sample::select(vec![("ns", 1u128), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000), ("d", 86_400_000_000_000)]),
    ) {
        let fraction = if digits.is_empty() { 0 } else { digits.parse::<u128>().unwrap() * unit.1 / 10u128.pow(digits.len() as u32) };
        let exact = u128::from(whole) * unit.1 + fraction;
        prop_assert_eq!(duration::parse(&format!("{whole}.{digits}{}", unit.0)).map(|read| read.as_nanos()), Ok(exact));
    }

    #[test]
    fn any_text_is_a_duration_or_one_line_of_error(text in "\\PC{0,40}|[0-9. a-zµ]{0,30}") {
        if let Err(error) = duration::parse(&text) {
            let line = error.to_string();
            prop_assert!(!line.contains('\n') && line.contains("200ms"), "{}", line);
        }
    }

    #[test]
    fn a_date_reads_back_as_it_was_written_up_to_the_year_9999(since in 0..=LAST, now in any_duration()) {
        let written = http_date::format(Duration::from_secs(since)).to_string();
        prop_assert_eq!(http_date::parse(&written, now), Some(Duration::from_secs(since)), "{}", written);
        let (_, asctime) = other_forms(since);
        prop_assert_eq!(http_date::parse(&asctime, now), Some(Duration::from_secs(since)), "{}", asctime);
    }

    #[test]
    fn a_two_digit_year_is_right_within_49_years(now in 1_600_000_000u64..200_000_000_000, years in -49i64..49) {
        let since = now.saturating_add_signed(years * 31_556_952);
        let (rfc850, _) = other_forms(since);
        prop_assert_eq!(http_date::parse(&rfc850, Duration::from_secs(now)), Some(Duration::from_secs(since)), "{}", rfc850);
    }

    #[test]
    fn any_text_is_a_date_or_none(text in "\\PC{0,40}|(Sun|Sunday)(,| )[ 0-9A-Za-z:-]{0,30}(GMT)?", now in any_duration()) {
        if let Some(since) = http_date::parse(&text, now) {
            prop_assert!(since <= Duration::from_secs(LAST + 51 * 31_556_952));
        }
    }

    #[test]
    fn the_servers_clock_cancels_its_skew(date in 0..LAST - 100_000, wait in 0u64..100_000, now in any_duration()) {
        let header = |since| http_date::format(Duration::from_secs(since)).to_string();
        let asked = Some(Duration::from_secs(wait));
        prop_assert_eq!(retry_after::parse(&header(date + wait), Some(&header(date)), now), asked);
        prop_assert_eq!(retry_after::parse(&header(date), Some(&header(date + wait)), now), Some(Duration::ZERO));
        let honest = Duration::from_secs(date);
        prop_assert_eq!(retry_after::parse(&header(date + wait), None, honest), asked);
    }

    #[test]
    fn seconds_are_never_cut_short(digits in "[0-9]{1,40}", fraction in "[0-9]{1,10}") {
        let read = retry_after::parse(&digits, None, Duration::ZERO).unwrap();
        let fractional = retry_after::parse(&format!("{digits}.{fraction}"), None, Duration::ZERO).unwrap();
        match digits.parse::<u64>() {
            Ok(seconds) => prop_assert_eq!(read, Duration::from_secs(seconds)),
            Err(_) => prop_assert_eq!(read, Duration::MAX),
        }
        prop_assert!(fractional >= read);
    }

    #[test]
    fn nothing_from_outside_panics(value in "\\PC{0,60}", date in prop::option::of("\\PC{0,60}"), status in any::<u16>(), now in any_duration()) {
        let after = retry_after::parse(&value, date.as_deref(), now);
        let _ = (StatusTable::DEFAULT.class(status, after), by_text(&value));
        prop_assert_eq!(StatusTable::NOTHING.with(status).retries(status), (100..600).contains(&status));
        prop_assert!(!StatusTable::DEFAULT.without(status).retries(status));
    }
}

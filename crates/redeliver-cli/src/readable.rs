//! Numbers as a person reads them: rounded to what matters, always with their unit.

use std::time::Duration;

const MICROSECOND: u128 = 1_000;
const MILLISECOND: u128 = 1_000 * MICROSECOND;
const SECOND: u128 = 1_000 * MILLISECOND;
const MINUTE: u128 = 60 * SECOND;
const HOUR: u128 = 60 * MINUTE;
const DAY: u128 = 24 * HOUR;
const YEAR: u128 = 365 * DAY;

/// A duration in three digits or two units: `1.25s`, `39s`, `1m 19.3s`, `2h 5m`, `5308y`.
pub(crate) fn duration(duration: Duration) -> String {
    // Rounded before the unit is chosen, so that 59.99 s is 1m and never 60s.
    let nanos = rounded(duration.as_nanos());
    match nanos {
        0 => "0s".to_owned(),
        1..MICROSECOND => format!("{nanos}ns"),
        MICROSECOND..MILLISECOND => decimal(nanos, MICROSECOND, "µs"),
        MILLISECOND..SECOND => decimal(nanos, MILLISECOND, "ms"),
        SECOND..MINUTE => decimal(nanos, SECOND, "s"),
        MINUTE..HOUR => two_units(nanos, (MINUTE, "m"), (SECOND, "s")),
        HOUR..DAY => two_units(nanos, (HOUR, "h"), (MINUTE, "m")),
        DAY..YEAR => two_units(nanos, (DAY, "d"), (HOUR, "h")),
        _ => format!("{}y", nanos / YEAR),
    }
}

/// A duration given in seconds; what no [`Duration`] can be is the nearest one.
pub(crate) fn seconds(seconds: f64) -> String {
    let nearest = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    duration(nearest)
}

/// A number in three digits: `7`, `0.25`, `950`, `1.25k`, `12.5M`.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let (scale, suffix) = match size {
        size if size < 999.5 => (1.0, ""),
        size if size < 999.5e3 => (1e3, "k"),
        size if size < 999.5e6 => (1e6, "M"),
        _ => (1e9, "G"),
    };
    let scaled = value / scale;
    let places = match scaled.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{}{suffix}", trimmed(&format!("{scaled:.places$}")))
}

/// Text from elsewhere as one line of at most so many characters, without what a terminal would obey.
pub(crate) fn line(text: &str, longest: usize) -> String {
    let mut characters = text.chars().map(|character| match character {
        '\t' | '\n' => ' ',
        character if character.is_control() || turns_around(character) => '\u{fffd}',
        character => character,
    });
    let mut line: String = characters.by_ref().take(longest).collect();
    if characters.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

/// Whether it turns what follows around, so that a text is not what it looks like.
pub(crate) const fn turns_around(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn rounded(nanos: u128) -> u128 {
    let quantum = match nanos {
        0..MINUTE => 10u128.pow(nanos.checked_ilog10().unwrap_or(0).saturating_sub(2)),
        MINUTE..600_000_000_000 => SECOND / 10,
        600_000_000_000..HOUR => SECOND,
        HOUR..DAY => MINUTE,
        DAY..YEAR => HOUR,
        _ => YEAR,
    };
    (nanos + quantum / 2) / quantum * quantum
}

fn decimal(nanos: u128, unit: u128, name: &str) -> String {
    let hundredths = nanos * 100 / unit;
    let shown = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    format!("{}{name}", trimmed(&shown))
}

fn two_units(nanos: u128, large: (u128, &str), small: (u128, &str)) -> String {
    let (count, rest) = (nanos / large.0, nanos % large.0);
    if rest == 0 {
        format!("{count}{}", large.1)
    } else {
        format!("{count}{} {}", large.1, decimal(rest, small.0, small.1))
    }
}

fn trimmed(decimal: &str) -> &str {
    if decimal.contains('.') {
        decimal.trim_end_matches('0').trim_end_matches('.')
    } else {
        decimal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_keeps_what_matters() {
        for (nanos, shown) in [
            (0, "0s"),
            (7, "7ns"),
            (1_250, "1.25µs"),
            (119_999_999, "120ms"),
            (999_999_999, "1s"),
            (1_250_000_000, "1.25s"),
            (39_000_000_000, "39s"),
            (20_840_000_000, "20.8s"),
            (59_990_000_000, "1m"),
            (79_300_000_000, "1m 19.3s"),
            (3_599_900_000_000, "1h"),
            (7_500_000_000_000, "2h 5m"),
            (90_000_000_000_000, "1d 1h"),
            (u64::MAX, "585y"),
        ] {
            assert_eq!(duration(Duration::from_nanos(nanos)), shown);
        }
        assert_eq!(duration(Duration::MAX), "584942417355y");
    }

    #[test]
    fn seconds_that_are_no_duration_do_not_panic() {
        assert_eq!(seconds(f64::NAN), "0s");
        assert_eq!(seconds(-1.0), "0s");
        assert_eq!(seconds(f64::INFINITY), duration(Duration::MAX));
    }

    #[test]
    fn foreign_text_is_one_line_without_commands_to_the_terminal() {
        assert_eq!(line("a\nb\x1b[31mc", 20), "a b\u{fffd}[31mc");
        assert_eq!(line("pay\u{202e}001", 20), "pay\u{fffd}001");
        assert_eq!(line("abcdef", 6), "abcdef");
        assert_eq!(line("abcdefg", 6), "abcde…");
    }

    #[test]
    fn a_number_keeps_three_digits() {
        for (value, shown) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (100.0, "100"),
            (999.6, "1k"),
            (1_250.0, "1.25k"),
            (12_500_000.0, "12.5M"),
            (-20.0, "-20"),
        ] {
            assert_eq!(number(value), shown);
        }
    }
}

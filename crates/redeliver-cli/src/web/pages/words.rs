//! Figures, times and states as they stand in a page. What is written here as markup holds nothing that a stranger wrote.

use std::{fmt, time::Duration};

use askama::filters::HtmlSafe;
use redeliver_outbox::{Timestamp, live::LiveFigures, state::Status};

use crate::{readable, web::sampled::Counted};

/// A number with its thousands apart: `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 message`, `12,345 messages`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", grouped(number)),
    }
}

/// Bytes as a person reads them: `512 B`, `1.4 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ if size < 10.0 => format!("{size:.1} {unit}"),
        _ => format!("{size:.0} {unit}"),
    }
}

/// How long about, in one or two units and without fractions: what changes every second does not have to be read.
pub(super) fn about(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let two = |large: u64, name: &str, small: u64, small_name: &str| match small {
        0 => format!("{large}{name}"),
        _ => format!("{large}{name} {small}{small_name}"),
    };
    match seconds {
        0 => "<1s".to_owned(),
        1..60 => format!("{seconds}s"),
        60..600 => two(seconds / 60, "m", seconds % 60, "s"),
        600..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        86_400..864_000 => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A point in time: how far away it is, with the exact time beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct When {
    time: Timestamp,
    now: Timestamp,
}

impl When {
    pub(super) const fn of(time: Timestamp, now: Timestamp) -> Self {
        Self { time, now }
    }

    pub(super) fn words(self) -> String {
        let (past, future) = (self.now.since(self.time), self.time.since(self.now));
        match () {
            () if past.as_secs() > 0 => format!("{} ago", about(past)),
            () if future.as_secs() > 0 => format!("in {}", about(future)),
            () => "now".to_owned(),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, time) = (self.words(), self.time);
        write!(f, r#"<time datetime="{time}" title="{time}">{words}</time>"#)
    }
}

impl HtmlSafe for When {}

/// How something is: a word and a sign, so that its colour need not be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chip {
    word: &'static str,
    sign: &'static str,
    tone: &'static str,
}

impl Chip {
    pub(super) const fn new(tone: &'static str, sign: &'static str, word: &'static str) -> Self {
        Self { word, sign, tone }
    }

    pub(super) const fn of(status: Status) -> Self {
        match status {
            Status::Pending => Self::new("calm", "○", "pending"),
            Status::Processing => Self::new("busy", "◐", "processing"),
            Status::Failed => Self::new("warn", "↻", "failed, retrying"),
            Status::Parked => Self::new("held", "‖", "parked"),
            Status::Sent => Self::new("good", "✓", "sent"),
            Status::DeadLettered => Self::new("bad", "✕", "dead letter"),
            Status::Discarded => Self::new("calm", "⌫", "discarded"),
            Status::FannedOut => Self::new("good", "⇉", "fanned out"),
        }
    }

    /// Of a destination, by the word that the commands have for it.
    pub(super) fn of_destination(state: &str) -> Self {
        match state {
            "well" => Self::new("good", "✓", "well"),
            "throttled" => Self::new("warn", "≋", "throttled"),
            "ramping" => Self::new("busy", "↗", "ramping up"),
            "resting" => Self::new("warn", "☾", "resting"),
            "probing" => Self::new("warn", "?", "probing"),
            "open" => Self::new("bad", "✕", "breaker open"),
            "paused" => Self::new("held", "‖", "paused"),
            "disabled" => Self::new("held", "⊘", "disabled"),
            _ => Self::new("calm", "–", "no relay has it"),
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, sign, tone } = self;
        write!(
            f,
            r#"<span class="chip {tone}"><span class="sign" aria-hidden="true">{sign}</span>{word}</span>"#
        )
    }
}

impl HtmlSafe for Chip {}

/// How fresh the figures are that stand around it; empty if they are as good as exact.
pub(super) fn freshness<T>(counted: &Counted<T>) -> String {
    match counted.is_exact() {
        true => String::new(),
        false => format!("counted {} ago", about(counted.age())),
    }
}

/// How fast one destination goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) in_flight: u64,
    pub(super) limit: u64,
    pub(super) ceiling: u64,
    pub(super) rate: String,
    pub(super) delivered: String,
    pub(super) failed: String,
    /// Whether anything failed in the last minute.
    pub(super) failing: bool,
    pub(super) p50: String,
    pub(super) p99: String,
    pub(super) held: String,
}

impl Pace {
    pub(super) fn of(live: &LiveFigures) -> Self {
        let took = |millis: Option<f64>| {
            millis.map_or("–".to_owned(), |millis| readable::seconds(millis / 1_000.0))
        };
        Self {
            in_flight: live.in_flight,
            limit: live.limit,
            ceiling: live.ceiling,
            rate: live.rate.map_or(String::new(), readable::number),
            delivered: readable::number(live.delivered_per_second),
            failed: readable::number(live.failed_per_second),
            failing: live.failed_per_second > 0.0,
            p50: took(live.latency_p50_ms),
            p99: took(live.latency_p99_ms),
            held: grouped(live.held),
        }
    }
}

/// A sentence of the commands in a page: what is to be typed stands out, and an exact time beside a near one is left out. All of it is
/// escaped, because it quotes strangers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prose(String);

impl Prose {
    pub(super) fn of(sentence: &str) -> Self {
        let mut out = String::with_capacity(sentence.len() + 32);
        let mut code = false;
        let mut rest = sentence;
        while let Some(character) = rest.chars().next() {
            if let Some(after) = rest
                .strip_prefix(" (")
                .and_then(exact_time)
                .and_then(|(_, after)| after.strip_prefix(')'))
            {
                rest = after;
                continue;
            }
            if let Some((time, after)) = exact_time(rest) {
                let (day, minute) = (&time[..10], &time[11..16]);
                out.push_str(&format!(
                    r#"<time datetime="{time}" title="{time}">{day} {minute} UTC</time>"#
                ));
                rest = after;
                continue;
            }
            match character {
                '`' => {
                    out.push_str(if code { "</code>" } else { "<code>" });
                    code = !code;
                }
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&#39;"),
                other => out.push(other),
            }
            rest = &rest[character.len_utf8()..];
        }
        if code {
            out.push_str("</code>");
        }
        Self(out)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The exact time that a text begins with, and what is behind it.
fn exact_time(text: &str) -> Option<(&str, &str)> {
    let (time, rest) = text.split_at_checked(24)?;
    let shape = time.bytes().enumerate().all(|(place, byte)| match place {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        19 => byte == b'.',
        23 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    shape.then_some((time, rest))
}

impl fmt::Display for Prose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Prose {}

/// Text of a stranger over several lines, with what has no picture made visible.
pub(super) fn visible(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            '\u{7f}' => '\u{2421}',
            '\0'..'\u{20}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
            character if character.is_control() || readable::turns_around(character) => '\u{fffd}',
            character => character,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_for_reading() {
        for (number, shown) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), shown);
        }
        for (size, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (50 << 20, "50 MiB"),
            (u64::MAX, "16777216 TiB"),
        ] {
            assert_eq!(bytes(size), shown);
        }
        for (seconds, shown) in [
            (0, "<1s"),
            (59, "59s"),
            (61, "1m 1s"),
            (3_599, "59m"),
            (7_260, "2h 1m"),
            (90_000, "1d 1h"),
            (9_000_000, "104d"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), shown);
        }
    }

    #[test]
    fn a_time_is_told_by_its_distance_and_exactly() {
        let now = Timestamp::from_millis(100_000);
        let time = When::of(Timestamp::from_millis(40_000), now).to_string();
        assert_eq!(
            time,
            r#"<time datetime="1970-01-01T00:00:40.000Z" title="1970-01-01T00:00:40.000Z">1m ago</time>"#
        );
        assert_eq!(When::of(now, now).words(), "now");
        assert_eq!(When::of(Timestamp::from_millis(145_900), now).words(), "in 45s");
    }

    #[test]
    fn a_sentence_is_escaped_whatever_it_quotes() {
        let prose =
            Prose::of("it failed 3m ago (2026-11-15T20:32:24.123Z) with \"<b>'x' & `y\"; `redeliver why 4`.")
                .to_string();
        assert_eq!(
            prose,
            "it failed 3m ago with &quot;&lt;b&gt;&#39;x&#39; &amp; <code>y&quot;; </code>redeliver why 4<code>.</code>"
        );
        assert_eq!(
            Prose::of("an (odd) time (2026Z)").to_string(),
            "an (odd) time (2026Z)"
        );
    }

    #[test]
    fn what_has_no_picture_gets_one() {
        assert_eq!(visible("a\x1b[2J\n\u{202e}b\0"), "a␛[2J\n\u{fffd}b␀");
    }
}

//! A request's options: typed, checked against what its path takes, refused in words.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use redeliver_policy::duration;

use super::catalogue::FaultPath;
use super::config::LONGEST_DELAY;
use super::reply::Refusal;

/// The decoded options of one request.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (decode(name), decode(value)))
                .collect(),
        )
    }

    /// A name that the path does not take is a typing error that would otherwise test nothing.
    pub(crate) fn check_names(&self, path: &FaultPath) -> Result<(), Refusal> {
        let unknown = self
            .0
            .iter()
            .find(|(name, _)| !path.options.iter().any(|(known, _)| known == name));
        let Some((name, _)) = unknown else { return Ok(()) };
        let known: Vec<_> = path.options.iter().map(|(known, _)| *known).collect();
        let takes = if known.is_empty() {
            "no options".to_owned()
        } else {
            known.join(", ")
        };
        Err(Refusal::bad_request(format!(
            "option {name:?} is unknown; {} takes {takes}",
            path.path
        )))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn number<N>(&self, name: &str, default: N, allowed: RangeInclusive<N>) -> Result<N, Refusal>
    where
        N: FromStr + PartialOrd + Display,
    {
        match self.text(name) {
            None => Ok(default),
            Some(value) => number(name, value, allowed),
        }
    }

    pub(crate) fn percent(&self, name: &str, default: u8) -> Result<u8, Refusal> {
        self.number(name, default, 0..=100)
    }

    pub(crate) fn duration(&self, name: &str, default: Duration) -> Result<Duration, Refusal> {
        let Some(value) = self.text(name) else {
            return Ok(default);
        };
        // Nothing is nothing in every unit.
        let read = if value == "0" {
            Ok(Duration::ZERO)
        } else {
            duration::parse(value)
        };
        let read = read.ok().filter(|duration| *duration <= LONGEST_DELAY);
        read.ok_or_else(|| refused(name, value, "a duration from 0 to 1h, such as 10ms or 1.5s"))
    }

    /// One of a few words; `None` if the option is not given.
    pub(crate) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, Refusal> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == value) {
            return Ok(Some(*choice));
        }
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        Err(refused(name, value, &format!("one of {}", words.join(", "))))
    }
}

/// Reads a number from a path or an option.
pub(crate) fn number<N>(name: &str, value: &str, allowed: RangeInclusive<N>) -> Result<N, Refusal>
where
    N: FromStr + PartialOrd + Display,
{
    let read = value.parse().ok().filter(|number| allowed.contains(number));
    read.ok_or_else(|| {
        refused(
            name,
            value,
            &format!("a number from {} to {}", allowed.start(), allowed.end()),
        )
    })
}

fn refused(name: &str, value: &str, allowed: &str) -> Refusal {
    let shown: String = value.chars().take(64).collect();
    Refusal::bad_request(format!("{name}: {shown:?} is not allowed; give {allowed}"))
}

/// Undoes percent-encoding and `+`; a broken escape stays as it is, and so does nothing that is not UTF-8.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes
            .get(at + 1..at + 3)
            .and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = escape.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], byte) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 2;
            }
            (b'+', _) => decoded.push(b' '),
            (plain, _) => decoded.push(plain),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_broken_ones_kept() {
        let query = Query::parse("a=1%2C2+3&b=%zz%2&c&=x");
        assert_eq!(query.text("a"), Some("1,2 3"));
        assert_eq!(query.text("b"), Some("%zz%2"));
        assert_eq!(query.text("c"), Some(""));
        assert_eq!(query.text("d"), None);
    }

    #[test]
    fn a_refusal_names_option_value_and_range() {
        let query = Query::parse("fail_rate=101&every=-3s&form=iso");
        let words = |refusal: Refusal| refusal.message().to_owned();
        assert_eq!(
            words(query.percent("fail_rate", 40).unwrap_err()),
            "fail_rate: \"101\" is not allowed; give a number from 0 to 100"
        );
        assert!(words(query.duration("every", Duration::ZERO).unwrap_err()).contains("0 to 1h"));
        assert!(
            words(query.choice("form", &[("imf", 1), ("asctime", 2)]).unwrap_err()).contains("imf, asctime")
        );
    }

    #[test]
    fn durations() {
        let query = Query::parse("a=10ms&b=1.5s&c=0&d=2h");
        let read = |name| query.duration(name, Duration::MAX).ok().map(|d| d.as_millis());
        assert_eq!(
            [read("a"), read("b"), read("c"), read("d")],
            [Some(10), Some(1500), Some(0), None]
        );
    }
}

//! A strict reader of what Prometheus reads.

#![expect(clippy::panic, reason = "what cannot be read fails the test, and is shown")]

use std::collections::{BTreeMap, BTreeSet};

/// A metric with its samples.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) kind: String,
    pub(super) samples: BTreeMap<Series, f64>,
}

type Labels = Vec<(String, String)>;

/// The name of a sample and its labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) labels: Labels,
}

impl Family {
    /// The names of its labels, but for the bounds of a histogram.
    pub(super) fn labels(&self) -> BTreeSet<&str> {
        let names = self.samples.keys().flat_map(|series| &series.labels);
        names
            .map(|(name, _)| name.as_str())
            .filter(|&name| name != "le")
            .collect()
    }
}

/// The metrics by the names under which they are documented; `open` if it is to be OpenMetrics.
#[track_caller]
pub(super) fn parse(text: &str, open: bool) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    assert!(text.ends_with('\n'));
    let text = match open {
        true => text.strip_suffix("# EOF\n").expect("an end"),
        false => text,
    };
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(told) = line.strip_prefix("# HELP ") {
            let (name, help) = told.split_once(' ').unwrap();
            assert!(is_name(name) && !help.is_empty(), "{line}");
            let kind = lines.next().unwrap().strip_prefix("# TYPE ").expect("a type");
            let kind = kind
                .strip_prefix(name)
                .expect("the type of the same metric")
                .trim();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
            current = match open && kind == "counter" {
                true => format!("{name}_total"),
                false => name.to_owned(),
            };
            let family = Family {
                kind: kind.to_owned(),
                ..Family::default()
            };
            assert!(families.insert(current.clone(), family).is_none(), "{name} twice");
            continue;
        }
        let (series, value) = sample(line);
        let family = families.get_mut(&current).expect("a metric before its samples");
        let suffix = series
            .name
            .strip_prefix(&current)
            .unwrap_or_else(|| panic!("{line} in {current}"));
        let right = match family.kind.as_str() {
            "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
            _ => suffix.is_empty(),
        };
        assert!(right, "{line} in {current}");
        assert_eq!(family.kind == "counter", current.ends_with("_total"), "{current}");
        assert!(family.kind == "gauge" || value >= 0.0, "{line}");
        assert!(family.samples.insert(series, value).is_none(), "{line} twice");
    }
    for (name, family) in families.iter().filter(|(_, family)| family.kind == "histogram") {
        check_buckets(name, family);
    }
    families
}

/// Buckets do not fall, and the last of them holds all.
#[track_caller]
fn check_buckets(name: &str, family: &Family) {
    let mut buckets: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
    for (series, &value) in &family.samples {
        if series.name.ends_with("_bucket") {
            let (bounds, labels): (Vec<_>, Vec<_>) =
                series.labels.iter().cloned().partition(|(name, _)| name == "le");
            let [(_, bound)] = &bounds[..] else {
                panic!("{series:?}")
            };
            let bound = if bound == "+Inf" {
                f64::INFINITY
            } else {
                bound.parse().unwrap()
            };
            buckets.entry(labels).or_default().push((bound, value));
        }
    }
    for (labels, mut buckets) in buckets {
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(buckets.is_sorted_by(|one, other| one.1 <= other.1), "{buckets:?}");
        let last = buckets.last().unwrap();
        assert!(last.0.is_infinite());
        let series = |suffix| Series {
            name: format!("{name}{suffix}"),
            labels: labels.clone(),
        };
        assert_eq!(family.samples[&series("_count")], last.1);
        assert!(family.samples.contains_key(&series("_sum")));
    }
}

#[track_caller]
fn sample(line: &str) -> (Series, f64) {
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("{line}"));
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(is_name(name), "{line}");
            let (value, after) = quoted(after);
            labels.push((name.to_owned(), value));
            match after.strip_prefix(',') {
                Some(after) => rest = after,
                None => {
                    rest = after.strip_prefix('}').unwrap_or_else(|| panic!("{line}"));
                    break;
                }
            }
        }
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
    assert!(value.is_finite(), "{line}");
    let name = name.to_owned();
    (Series { name, labels }, value)
}

/// The text up to the quote that ends it, and what is behind it.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &text[at + 1..]),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, letter @ ('"' | '\\'))) => value.push(letter),
                other => panic!("{other:?} behind a backslash"),
            },
            letter => value.push(letter),
        }
    }
    panic!("no quote at the end of {text}");
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
}

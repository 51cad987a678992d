//! The text that Prometheus reads: its own format, and OpenMetrics where that is asked for.

use std::{fmt::Write as _, time::Duration};

use redeliver_outbox::relay::{BOUNDS, Spread};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// What whoever asks understands.
    pub(super) fn accepted(accept: &str) -> Self {
        let open = accept
            .split(',')
            .any(|kind| kind.trim_start().starts_with("application/openmetrics-text"));
        if open { Self::OpenMetrics } else { Self::Prometheus }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What is written so far.
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    format: Format,
}

/// A metric whose samples follow.
#[derive(Debug)]
pub(super) struct Family<'p> {
    text: &'p mut String,
    name: &'static str,
}

pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    pub(super) const fn new(format: Format) -> Self {
        let text = String::new();
        Self { text, format }
    }

    pub(super) fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    pub(super) fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    pub(super) fn histogram(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "histogram", help)
    }

    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        // To OpenMetrics `_total` is the sample's name, and not the metric's.
        let told = match self.format {
            Format::OpenMetrics => name.strip_suffix("_total").unwrap_or(name),
            Format::Prometheus => name,
        };
        let _ = writeln!(self.text, "# HELP {told} {help}\n# TYPE {told} {kind}");
        Family {
            text: &mut self.text,
            name,
        }
    }

    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

impl Family<'_> {
    pub(super) fn count(&mut self, labels: Labels<'_>, value: u64) {
        self.line("", labels, None, format_args!("{value}"));
    }

    pub(super) fn number(&mut self, labels: Labels<'_>, value: f64) {
        self.line("", labels, None, format_args!("{value}"));
    }

    pub(super) fn seconds(&mut self, labels: Labels<'_>, value: Duration) {
        self.number(labels, value.as_secs_f64());
    }

    pub(super) fn spread(&mut self, labels: Labels<'_>, spread: &Spread) {
        let mut all = 0;
        for (place, count) in spread.counts.iter().enumerate() {
            all += count;
            let bound = match BOUNDS.get(place) {
                Some(bound) => format!("{:?}", bound.as_secs_f64()),
                None => "+Inf".to_owned(),
            };
            self.line("_bucket", labels, Some(("le", &bound)), format_args!("{all}"));
        }
        let sum = spread.sum.as_secs_f64();
        self.line("_sum", labels, None, format_args!("{sum}"));
        self.line("_count", labels, None, format_args!("{all}"));
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: Labels<'_>,
        last: Option<(&str, &str)>,
        value: std::fmt::Arguments<'_>,
    ) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        let mut before = '{';
        for (name, value) in labels.iter().copied().chain(last) {
            let _ = write!(self.text, "{before}{name}=\"");
            escape(self.text, value);
            self.text.push('"');
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

fn escape(text: &mut String, value: &str) {
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            letter => text.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let mut page = Page::new(format);
        page.counter("a_total", "What is counted.")
            .count(&[("destination", "x\"y\\z\n")], 3);
        let mut spread = Spread::default();
        (spread.counts[0], spread.counts[15], spread.sum) = (2, 1, Duration::from_millis(61_500));
        let mut family = page.histogram("b_seconds", "How long.");
        family.spread(&[("d", "e")], &spread);
        page.gauge("c", "Now.").number(&[], 0.5);
        page.finish()
    }

    #[test]
    fn labels_are_escaped_and_buckets_add_up() {
        let text = written(Format::Prometheus);
        assert!(
            text.starts_with("# HELP a_total What is counted.\n# TYPE a_total counter\n"),
            "{text}"
        );
        for line in [
            "a_total{destination=\"x\\\"y\\\\z\\n\"} 3",
            "b_seconds_bucket{d=\"e\",le=\"0.001\"} 2",
            "b_seconds_bucket{d=\"e\",le=\"60.0\"} 2",
            "b_seconds_bucket{d=\"e\",le=\"+Inf\"} 3",
            "b_seconds_sum{d=\"e\"} 61.5",
            "b_seconds_count{d=\"e\"} 3",
            "c 0.5",
        ] {
            assert!(text.lines().any(|told| told == line), "{line} in {text}");
        }
    }

    #[test]
    fn openmetrics_names_the_counter_without_its_suffix_and_ends() {
        let text = written(Format::OpenMetrics);
        assert!(
            text.contains("# TYPE a counter\na_total{") && text.ends_with("c 0.5\n# EOF\n"),
            "{text}"
        );
        for (accept, format) in [
            ("", Format::Prometheus),
            ("*/*", Format::Prometheus),
            (
                "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3",
                Format::OpenMetrics,
            ),
            (
                "text/plain, application/openmetrics-text; version=0.0.1",
                Format::OpenMetrics,
            ),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }
}

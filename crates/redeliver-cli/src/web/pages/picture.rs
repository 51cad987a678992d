//! Pictures made here, as SVG: they need no script, and take their colours from the page. Their labels are ours, never a stranger's.

use std::fmt::{self, Write as _};

use askama::filters::HtmlSafe;

use super::words::grouped;

/// Columns side by side, each with its label and its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// What it shows, for whoever does not see it.
    about: String,
    columns: Vec<(String, u64)>,
}

/// The height of a picture, in its own units.
const HEIGHT: f64 = 40.0;

impl Columns {
    pub(super) fn new(about: String, columns: Vec<(String, u64)>) -> Self {
        Self { about, columns }
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let highest = self
            .columns
            .iter()
            .map(|(_, count)| *count)
            .max()
            .unwrap_or(0)
            .max(1);
        let (width, about) = (self.columns.len().max(1), &self.about);
        write!(
            f,
            r#"<svg class="columns" viewBox="0 0 {width} {HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{about}">"#
        )?;
        for (place, (label, count)) in self.columns.iter().enumerate() {
            // A single message is still seen beside a million.
            let share = *count as f64 / highest as f64;
            let height = if *count == 0 {
                0.0
            } else {
                (share * HEIGHT).max(1.5)
            };
            let (top, count) = (HEIGHT - height, grouped(*count));
            write!(
                f,
                r#"<g><title>{label}: {count}</title><rect class="room" x="{place}" y="0" width="1" height="{HEIGHT}"/><rect class="column" x="{place}.1" y="{top:.2}" width="0.8" height="{height:.2}"/></g>"#
            )?;
        }
        f.write_str("</svg>")
    }
}

impl HtmlSafe for Columns {}

/// A share of something as a bar, beside which its figure stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub(super) f64);

impl Share {
    pub(super) fn of(part: u64, whole: u64) -> Self {
        Self(part as f64 / whole.max(1) as f64)
    }

    /// The figure that stands beside it: `12%`.
    pub(super) fn percent(self) -> String {
        format!("{:.0}%", self.0 * 100.0)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0.clamp(0.0, 1.0) * 100.0;
        let seen = if self.0 > 0.0 { percent.max(1.0) } else { 0.0 };
        write!(
            f,
            r#"<svg class="share" aria-hidden="true"><rect class="room" width="100%" height="100%"/><rect class="part" width="{seen:.1}%" height="100%"/></svg>"#
        )
    }
}

impl HtmlSafe for Share {}

/// Shares of a whole beside each other, each with the class that gives it its colour and the words for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shares {
    about: String,
    parts: Vec<(&'static str, &'static str, u64)>,
    whole: u64,
}

impl Shares {
    pub(super) fn new(about: String, parts: Vec<(&'static str, &'static str, u64)>, whole: u64) -> Self {
        Self { about, parts, whole }
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = &self.about;
        write!(
            f,
            r#"<svg class="shares" role="img" aria-label="{about}"><rect class="room" width="100%" height="100%"/>"#
        )?;
        let percent = |count: u64| count as f64 / self.whole.max(1) as f64 * 100.0;
        let mut before = 0.0;
        for (class, words, count) in &self.parts {
            let width = percent(*count).min(100.0 - before);
            write!(
                f,
                r#"<rect class="part {class}" x="{before:.2}%" width="{width:.2}%" height="100%"><title>{} {words}</title></rect>"#,
                grouped(*count)
            )?;
            before += width;
        }
        f.write_str("</svg>")
    }
}

impl HtmlSafe for Shares {}

/// Lines over time, each with the class that gives it its colour. A gap is where nothing is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lines {
    about: String,
    lines: Vec<(&'static str, Vec<Option<f64>>)>,
}

/// The most points that are drawn of a line: a picture has no more places.
const PLACES: usize = 180;

impl Lines {
    pub(super) fn new(about: String, lines: Vec<(&'static str, Vec<Option<f64>>)>) -> Self {
        let lines = lines
            .into_iter()
            .map(|(class, line)| (class, thinned(&line)))
            .collect();
        Self { about, lines }
    }
}

/// Every so manieth place, by the highest of it.
fn thinned(line: &[Option<f64>]) -> Vec<Option<f64>> {
    let each = line.len().div_ceil(PLACES).max(1);
    line.chunks(each)
        .map(|chunk| chunk.iter().flatten().copied().reduce(f64::max))
        .collect()
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = self.lines.iter().flat_map(|(_, line)| line.iter().flatten());
        let highest = points.copied().fold(0.0, f64::max);
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let longest = self.lines.iter().map(|(_, line)| line.len()).max().unwrap_or(0);
        let (width, about) = (longest.saturating_sub(1).max(1), &self.about);
        write!(
            f,
            r#"<svg class="lines" viewBox="0 0 {width} {HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{about}">"#
        )?;
        for (class, line) in &self.lines {
            let mut path = String::new();
            let mut pen = 'M';
            for (place, value) in line.iter().enumerate() {
                match value {
                    Some(value) => {
                        let top = (HEIGHT - 1.0) - value / highest * (HEIGHT - 2.0);
                        let _ = write!(path, "{pen}{place} {top:.2}");
                        pen = 'L';
                    }
                    None => pen = 'M',
                }
            }
            write!(f, r#"<path class="line {class}" d="{path}"/>"#)?;
        }
        f.write_str("</svg>")
    }
}

impl HtmlSafe for Lines {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_one_is_seen_beside_a_million() {
        let columns = Columns::new(
            "two".to_owned(),
            vec![("a".to_owned(), 1), ("b".to_owned(), 1_000_000)],
        );
        let drawn = columns.to_string();
        assert!(drawn.contains(r#"height="1.50""#), "{drawn}");
        assert!(drawn.contains("b: 1,000,000"), "{drawn}");
    }

    #[test]
    fn a_line_has_gaps_and_never_more_points_than_places() {
        let line = vec![Some(1.0), None, Some(2.0)];
        let drawn = Lines::new(String::new(), vec![("out", line)]).to_string();
        assert!(drawn.contains(r#"d="M0 20.00M2 1.00""#), "{drawn}");
        let long: Vec<_> = (0..900).map(|place| Some(f64::from(place))).collect();
        assert_eq!(thinned(&long).len(), PLACES);
        assert_eq!(Lines::default().to_string().matches("<path").count(), 0);
    }

    #[test]
    fn shares_stand_beside_each_other_within_the_whole() {
        let shares = Shares::new(
            String::new(),
            vec![("good", "arrived", 50), ("bad", "failed", 70)],
            100,
        );
        let drawn = shares.to_string();
        assert!(drawn.contains(r#"x="0.00%" width="50.00%""#), "{drawn}");
        assert!(drawn.contains(r#"x="50.00%" width="50.00%""#), "{drawn}");
    }

    #[test]
    fn a_share_is_a_share_whatever_is_given() {
        for (share, width) in [(0.0, "0.0%"), (0.001, "1.0%"), (0.5, "50.0%"), (7.0, "100.0%")] {
            assert!(Share(share).to_string().contains(width), "{share}");
        }
    }
}

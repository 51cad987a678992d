//! Drawings as SVG, written by hand: no script, no font and no link to anything outside the file.

mod canvas;
mod lines;
mod ranges;
mod style;

use super::{Lines, Ranges};
use canvas::{Anchor, Canvas};

/// The width of every picture, in its own units; it scales to where it is put.
const WIDTH: f64 = 800.0;
const MARGIN: f64 = 24.0;
const GAP: f64 = 28.0;
/// As wide as a digit of the small type is in a wide font: no font is measured here.
const LETTER: f64 = 7.2;

/// One picture of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Panel<'a> {
    Ranges(&'a Ranges),
    Lines(&'a Lines),
}

/// A whole SVG document: the title, a line below it, and the panels from top to bottom. It follows the reader's choice of light or dark.
pub(crate) fn document(title: &str, subtitle: &str, panels: &[Panel<'_>]) -> String {
    let mut canvas = Canvas::default();
    let mut y = MARGIN + 14.0;
    canvas.text((MARGIN, y), "title", Anchor::Start, title);
    if !subtitle.is_empty() {
        y += 20.0;
        canvas.text((MARGIN, y), "soft", Anchor::Start, subtitle);
    }
    for panel in panels {
        y += GAP;
        y += match panel {
            Panel::Ranges(chart) => ranges::draw(&mut canvas, chart, y),
            Panel::Lines(chart) => lines::draw(&mut canvas, chart, y),
        };
    }
    canvas.document(title, subtitle, y + MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Mark, Measure, Range, Series, Span};

    fn everything(name: &str) -> String {
        let ranges = Ranges {
            title: name.to_owned(),
            measure: Measure::Time,
            rows: vec![Range {
                label: name.to_owned(),
                low: 1.0,
                mean: 1.5,
                high: f64::NAN,
            }],
            from_zero: true,
            marks: vec![Mark {
                at: f64::INFINITY,
                label: name.to_owned(),
            }],
        };
        let axis = |measure| Axis {
            label: name.to_owned(),
            measure,
        };
        let lines = Lines {
            title: name.to_owned(),
            x: axis(Measure::Time),
            y: axis(Measure::Count),
            series: vec![Series {
                name: name.to_owned(),
                points: vec![(0.0, 1.0), (f64::NAN, 2.0), (3.0, f64::INFINITY), (9.0, 4.0)],
            }],
            levels: vec![Mark {
                at: 2.0,
                label: name.to_owned(),
            }],
            spans: vec![Span {
                from: 1.0,
                to: 2.0,
                label: name.to_owned(),
            }],
        };
        document(name, name, &[Panel::Ranges(&ranges), Panel::Lines(&lines)])
    }

    #[test]
    fn text_is_escaped_everywhere() {
        let svg = everything("<script>&\"'\u{1}");
        assert!(!svg.contains("<script>") && !svg.contains('\u{1}'));
        assert!(svg.contains("&lt;script&gt;&amp;&quot;&#39;"));
    }

    #[test]
    fn what_is_not_a_number_is_never_written() {
        let svg = everything("x");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(svg, everything("x"));
    }
}

use std::fmt::Write;

use super::{WIDTH, style::STYLE};

/// Which end of a text its position is.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The elements drawn so far. Every coordinate is written with one decimal at most, so equal drawings are equal bytes.
#[derive(Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    pub(super) fn text(&mut self, at: (f64, f64), class: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (coordinate(at.0), coordinate(at.1), escaped(text));
        self.push(format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>"
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(coordinate);
        self.push(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    /// A box; one without width or height is left out.
    pub(super) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), round: f64, class: &str) {
        let [x, y, width, height, round] = [at.0, at.1, size.0, size.1, round].map(coordinate);
        if width == "0" || height == "0" || width.starts_with('-') {
            return;
        }
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\"/>"
        ));
    }

    pub(super) fn dot(&mut self, at: (f64, f64), radius: f64, class: &str) {
        let [x, y, r] = [at.0, at.1, radius].map(coordinate);
        self.push(format_args!(
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>"
        ));
    }

    /// A line through the points; closed down to `floor` where one is given.
    pub(super) fn path(&mut self, points: &[(f64, f64)], floor: Option<f64>, class: &str) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return;
        };
        let mut course = String::new();
        for (index, point) in points.iter().enumerate() {
            let verb = if index == 0 { 'M' } else { 'L' };
            let _ = write!(course, "{verb}{} {}", coordinate(point.0), coordinate(point.1));
        }
        if let Some(floor) = floor {
            let [from, to, floor] = [first.0, last.0, floor].map(coordinate);
            let _ = write!(course, "L{to} {floor}L{from} {floor}Z");
        }
        self.push(format_args!("<path class=\"{class}\" d=\"{course}\"/>"));
    }

    pub(super) fn document(self, title: &str, description: &str, height: f64) -> String {
        let (width, height) = (coordinate(WIDTH), coordinate(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
             <title>{}</title>\n<desc>{}</desc>\n<style>\n{STYLE}</style>\n\
             <rect class=\"paper\" x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n{}</svg>\n",
            escaped(title),
            escaped(description),
            self.body
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "{element}");
    }
}

fn coordinate(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let shown = format!("{value:.1}");
    match shown.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => shown,
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML has no way to write most of them, escaped or not.
            control if control.is_control() => safe.push(' '),
            '\u{fffe}' | '\u{ffff}' => safe.push(' '),
            plain => safe.push(plain),
        }
    }
    safe
}

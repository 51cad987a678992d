use super::{
    LETTER, MARGIN, WIDTH,
    canvas::{Anchor, Canvas},
};
use crate::chart::Ranges;

const ROW: f64 = 22.0;
const BAR: f64 = 12.0;
const TICKS: usize = 8;

/// Draws the chart with its heading at `y`, and tells its height.
pub(super) fn draw(canvas: &mut Canvas, chart: &Ranges, y: f64) -> f64 {
    let letters = |text: &str| text.chars().count() as f64 * LETTER;
    let longest =
        |texts: &mut dyn Iterator<Item = String>| texts.map(|text| letters(&text)).fold(0.0, f64::max);
    let values: Vec<String> = chart
        .rows
        .iter()
        .map(|row| value(chart, row.low, row.high))
        .collect();
    let left = MARGIN + longest(&mut chart.rows.iter().map(|row| row.label.clone())) + 10.0;
    let right = WIDTH - MARGIN - longest(&mut values.iter().cloned()) - 14.0;
    let top = if chart.top() > 0.0 { chart.top() } else { 1.0 };
    let x = |value: f64| left + (value.clamp(0.0, top) / top) * (right - left);
    let first = y + 18.0;
    let bottom = first + ROW * chart.rows.len() as f64 + 4.0;

    canvas.text((MARGIN, y), "heading", Anchor::Start, &chart.title);
    key(canvas, chart, y);
    for tick in chart.measure.ticks(top, TICKS) {
        let class = if tick == 0.0 { "rule" } else { "grid" };
        canvas.line((x(tick), first - 2.0), (x(tick), bottom), class);
        canvas.text(
            (x(tick), bottom + 16.0),
            "soft",
            Anchor::Middle,
            &chart.measure.show(tick),
        );
    }
    for (index, (row, value)) in chart.rows.iter().zip(&values).enumerate() {
        let middle = first + ROW * (index as f64 + 0.5);
        let (bar, text) = (middle - BAR / 2.0, middle + 4.0);
        canvas.text((left - 10.0, text), "soft", Anchor::End, &row.label);
        if chart.from_zero {
            canvas.rectangle((left, bar), (x(row.low) - left, BAR), 1.0, "certain");
        }
        canvas.rectangle((x(row.low), bar), (x(row.high) - x(row.low), BAR), 1.0, "chance");
        canvas.dot((x(row.mean), middle), 3.5, "mean");
        canvas.text((right + 14.0, text), "", Anchor::Start, value);
    }
    for mark in chart.marks.iter().filter(|mark| mark.at.is_finite()) {
        canvas.line((x(mark.at), first - 2.0), (x(mark.at), bottom), "mark");
        let (at, anchor) = if x(mark.at) > (left + right) / 2.0 {
            (x(mark.at) - 6.0, Anchor::End)
        } else {
            (x(mark.at) + 6.0, Anchor::Start)
        };
        canvas.text((at, first + 8.0), "marked", anchor, &mark.label);
    }
    bottom + 20.0 - y
}

/// What the parts of a bar mean, at the right of the heading.
fn key(canvas: &mut Canvas, chart: &Ranges, y: f64) {
    let mut x = WIDTH - MARGIN;
    let mut entry = |text: &str| {
        x -= text.chars().count() as f64 * LETTER;
        canvas.text((x, y), "soft", Anchor::Start, text);
        x -= 18.0;
        let at = x;
        x -= 14.0;
        at
    };
    let mean = entry("mean");
    let chance = entry("left to chance");
    let certain = chart.from_zero.then(|| entry("certain"));
    canvas.dot((mean + 7.0, y - 4.0), 3.5, "mean");
    canvas.rectangle((chance, y - 9.0), (12.0, 10.0), 1.0, "chance");
    if let Some(certain) = certain {
        canvas.rectangle((certain, y - 9.0), (12.0, 10.0), 1.0, "certain");
    }
}

fn value(chart: &Ranges, low: f64, high: f64) -> String {
    let (low, high) = (chart.measure.show(low), chart.measure.show(high));
    if low == high {
        low
    } else {
        format!("{low} – {high}")
    }
}

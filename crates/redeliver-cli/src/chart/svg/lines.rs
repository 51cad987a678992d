use super::{
    LETTER, MARGIN, WIDTH,
    canvas::{Anchor, Canvas},
    style::COLOURS,
};
use crate::chart::{Lines, Series};

const PLOT: f64 = 260.0;
const X_TICKS: usize = 8;
const Y_TICKS: usize = 5;

/// Where the plot lies, and what its far corner stands for.
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    most_x: f64,
    most_y: f64,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        self.left + (value / self.most_x).clamp(0.0, 1.0) * self.width
    }

    fn y(&self, value: f64) -> f64 {
        self.floor() - (value / self.most_y).clamp(0.0, 1.0) * PLOT
    }

    fn floor(&self) -> f64 {
        self.top + PLOT
    }
}

/// Draws the chart with its heading at `y`, and tells its height.
pub(super) fn draw(canvas: &mut Canvas, chart: &Lines, y: f64) -> f64 {
    canvas.text((MARGIN, y), "heading", Anchor::Start, &chart.title);
    let legend = legend(canvas, chart, y + 20.0);
    canvas.text((MARGIN, legend + 20.0), "soft", Anchor::Start, &chart.y.label);
    let most_y = chart.y.measure.round_up(chart.top(), Y_TICKS);
    let ticks = chart.y.measure.ticks(most_y, Y_TICKS);
    let widest = ticks
        .iter()
        .map(|tick| chart.y.measure.show(*tick).chars().count())
        .max();
    let left = MARGIN + widest.unwrap_or(0) as f64 * LETTER + 10.0;
    let frame = Frame {
        left,
        top: legend + 34.0,
        width: WIDTH - MARGIN - left,
        most_x: if chart.right() > 0.0 { chart.right() } else { 1.0 },
        most_y,
    };
    spans(canvas, chart, &frame);
    axes(canvas, chart, &frame, &ticks);
    // The first is the one that was asked for: it lies on top.
    for (index, series) in chart.series.iter().enumerate().rev() {
        let points = thinned(series, &frame);
        let colour = index % COLOURS;
        let dashes = if index >= COLOURS { " again" } else { "" };
        // Several fills over each other are mud.
        if chart.series.len() == 1 {
            canvas.path(&points, Some(frame.floor()), &format!("area f{colour}"));
        }
        canvas.path(&points, None, &format!("line s{colour}{dashes}"));
    }
    for level in chart.levels.iter().filter(|level| level.at.is_finite()) {
        let height = frame.y(level.at);
        canvas.line((frame.left, height), (frame.left + frame.width, height), "mark");
        let at = (frame.left + frame.width - 4.0, height - 6.0);
        canvas.text(at, "marked", Anchor::End, &level.label);
    }
    frame.floor() + 38.0 - y
}

fn axes(canvas: &mut Canvas, chart: &Lines, frame: &Frame, ticks: &[f64]) {
    let right = frame.left + frame.width;
    for tick in ticks {
        let height = frame.y(*tick);
        let class = if *tick == 0.0 { "rule" } else { "grid" };
        canvas.line((frame.left, height), (right, height), class);
        let at = (frame.left - 8.0, height + 4.0);
        canvas.text(at, "soft", Anchor::End, &chart.y.measure.show(*tick));
    }
    for tick in chart.x.measure.ticks(frame.most_x, X_TICKS) {
        let x = frame.x(tick);
        canvas.line((x, frame.floor()), (x, frame.floor() + 4.0), "rule");
        // The last label would stick out where the plot ends on its tick.
        let (x, anchor) = if right - x < 16.0 {
            (right, Anchor::End)
        } else {
            (x, Anchor::Middle)
        };
        canvas.text(
            (x, frame.floor() + 18.0),
            "soft",
            anchor,
            &chart.x.measure.show(tick),
        );
    }
    let middle = frame.left + frame.width / 2.0;
    canvas.text(
        (middle, frame.floor() + 36.0),
        "soft",
        Anchor::Middle,
        &chart.x.label,
    );
}

fn spans(canvas: &mut Canvas, chart: &Lines, frame: &Frame) {
    for span in &chart.spans {
        let (from, to) = (frame.x(span.from), frame.x(span.to));
        canvas.rectangle((from, frame.top), (to - from, PLOT), 0.0, "span");
        canvas.text((from + 6.0, frame.top + 15.0), "soft", Anchor::Start, &span.label);
    }
}

/// The names with their colours, in as many rows as they need; tells where it ends.
fn legend(canvas: &mut Canvas, chart: &Lines, y: f64) -> f64 {
    let (mut x, mut y) = (MARGIN, y);
    for (index, series) in chart.series.iter().enumerate() {
        let width = 40.0 + series.name.chars().count() as f64 * LETTER;
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + 18.0);
        }
        let dashes = if index >= COLOURS { " again" } else { "" };
        let class = format!("line s{}{dashes}", index % COLOURS);
        canvas.line((x, y - 4.0), (x + 16.0, y - 4.0), &class);
        canvas.text((x + 22.0, y), "", Anchor::Start, &series.name);
        x += width;
    }
    y
}

/// The points in the picture; the lowest and the highest of each unit of width where there are more than can be seen.
fn thinned(series: &Series, frame: &Frame) -> Vec<(f64, f64)> {
    let columns = frame.width as usize;
    let points: Vec<(f64, f64)> = if series.points.len() <= columns {
        series.finite().collect()
    } else {
        let width = frame.most_x / columns as f64;
        let extremes = series.columns(frame.most_x, columns);
        let placed = extremes.into_iter().enumerate().filter_map(|(index, extreme)| {
            let x = (index as f64 + 0.5) * width;
            extreme.map(|(low, high)| [(x, low), (x, high)])
        });
        placed.flatten().collect()
    };
    points
        .into_iter()
        .map(|(x, y)| (frame.x(x), frame.y(y)))
        .collect()
}

//! Drawings in block characters, for a terminal or a log.

use std::iter;

use super::{Lines, Mark, Measure, Ranges, Series};

/// The width that every drawing fits in unless the caller knows better.
pub(crate) const WIDTH: usize = 80;
/// Less than this leaves no room for anything to be seen.
const NARROWEST: usize = 40;
/// The rows that all strips of [`lines`] share.
const STRIP_ROWS: usize = 20;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar in each row, the values beside it, and an axis below.
pub(crate) fn ranges(chart: &Ranges, width: usize) -> String {
    let labels = widest(chart.rows.iter().map(|row| row.label.as_str()));
    let values: Vec<String> = chart
        .rows
        .iter()
        .map(|row| between(chart.measure, row.low, row.high))
        .collect();
    let beside = widest(values.iter().map(String::as_str));
    let columns = width.max(NARROWEST).saturating_sub(labels + beside + 4).max(8);
    let top = nonzero(chart.top());
    let column = |value: f64| ((value / top * columns as f64).round() as usize).min(columns);
    let mut lines = vec![chart.title.clone()];
    for (row, value) in chart.rows.iter().zip(&values) {
        let mut bar: Vec<char> = vec![' '; columns];
        for mark in &chart.marks {
            bar[column(mark.at).min(columns - 1)] = '┊';
        }
        let low = column(row.low);
        let high = column(row.high).max(low);
        if chart.from_zero {
            bar[..low].fill('█');
        }
        bar[low..high].fill('▒');
        // The mean is always seen, even where the bar is thinner than a column.
        bar[column(row.mean).min(columns - 1)] = '┃';
        let bar: String = bar.into_iter().collect();
        lines.push(format!("{:>labels$} │{bar}  {value}", row.label));
    }
    lines.extend(axis(chart.measure, top, labels + 1, columns));
    let certain = if chart.from_zero { "█ certain   " } else { "" };
    let key = format!("{certain}▒ left to chance   ┃ mean");
    lines.push(indented(labels + 2, &with_marks(key, &chart.marks, '┊')));
    finished(&lines)
}

/// One strip a series, all to the same scale, so that they compare without colour.
pub(crate) fn lines(chart: &Lines, width: usize) -> String {
    let most = 4;
    let top = chart.y.measure.round_up(nonzero(chart.top()), most);
    let ceiling = chart.y.measure.show(top);
    let floor = chart.y.measure.show(0.0);
    let labels = widest([ceiling.as_str(), floor.as_str()].into_iter());
    let columns = width.max(NARROWEST).saturating_sub(labels + 3).max(8);
    let rows = (STRIP_ROWS / chart.series.len().max(1)).clamp(3, 8);
    let right = nonzero(chart.right());
    let mut text = vec![format!("{} ({})", chart.title, chart.y.label)];
    for series in &chart.series {
        let peak = format!("up to {}", chart.y.measure.show(series.peak()));
        let room = (columns + 1).saturating_sub(peak.chars().count() + 1);
        text.push(indented(
            labels + 1,
            &format!("{:<room$} {peak}", fitted(&series.name, room)),
        ));
        for (row, cells) in strip(chart, series, right, top, columns, rows)
            .into_iter()
            .enumerate()
        {
            let label = match row {
                0 => ceiling.as_str(),
                row if row + 1 == rows => floor.as_str(),
                _ => "",
            };
            text.push(format!("{label:>labels$} │{cells}"));
        }
    }
    text.extend(axis(chart.x.measure, right, labels + 1, columns));
    let mut key = chart.x.label.clone();
    for span in &chart.spans {
        let (from, to) = (chart.x.measure.show(span.from), chart.x.measure.show(span.to));
        key = format!("{key}   ░ {} ({from} – {to})", span.label);
    }
    text.push(indented(labels + 2, &with_marks(key, &chart.levels, '┄')));
    finished(&text)
}

fn strip(chart: &Lines, series: &Series, right: f64, top: f64, columns: usize, rows: usize) -> Vec<String> {
    let values = series.columns(right, columns);
    let row_of = |value: f64| rows - 1 - ((value / top * rows as f64) as usize).min(rows - 1);
    let shaded = |column: usize| {
        let middle = (column as f64 + 0.5) / columns as f64 * right;
        chart
            .spans
            .iter()
            .any(|span| (span.from..span.to).contains(&middle))
    };
    let cell = |row: usize, column: usize| {
        let eighths = (rows * EIGHTHS.len().saturating_sub(1)) as f64;
        let height = values[column].map_or(0.0, |(_, high)| (high / top * eighths).max(0.0));
        // Anything above nothing is seen.
        let height = if height > 0.0 {
            height.round().max(1.0)
        } else {
            0.0
        } as usize;
        let below = (rows - 1 - row) * 8;
        match height.saturating_sub(below).min(8) {
            0 if chart.levels.iter().any(|level| row_of(level.at) == row) => '┄',
            0 if shaded(column) => '░',
            filled => EIGHTHS[filled],
        }
    };
    (0..rows)
        .map(|row| (0..columns).map(|column| cell(row, column)).collect())
        .collect()
}

/// The rule with its ticks, and the ticks' values below it.
fn axis(measure: Measure, top: f64, left: usize, columns: usize) -> [String; 2] {
    let mut rule: Vec<char> = iter::once('└').chain(iter::repeat_n('─', columns)).collect();
    let mut labels = String::new();
    for tick in measure.ticks(top, (columns / 12).max(1)) {
        let at = (tick / top * columns as f64).round() as usize;
        let shown = measure.show(tick);
        // Centred below its tick, unless that would run into the one before or out on the right.
        let wanted = (at + 1).saturating_sub(shown.chars().count().div_ceil(2));
        let start = wanted.min((columns + 2).saturating_sub(shown.chars().count()));
        let used = labels.chars().count();
        if used > 0 && start <= used {
            continue;
        }
        rule[at.min(columns)] = if at == 0 { '└' } else { '┴' };
        labels.extend(iter::repeat_n(' ', start.saturating_sub(used)));
        labels.push_str(&shown);
    }
    let rule: String = rule.into_iter().collect();
    [indented(left, &rule), indented(left, &labels)]
}

fn with_marks(mut key: String, marks: &[Mark], sign: char) -> String {
    for mark in marks {
        key = format!("{key}   {sign} {}", mark.label);
    }
    key
}

fn between(measure: Measure, low: f64, high: f64) -> String {
    let (low, high) = (measure.show(low), measure.show(high));
    if low == high {
        low
    } else {
        format!("{low} – {high}")
    }
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

fn fitted(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

fn indented(by: usize, text: &str) -> String {
    format!("{:by$}{text}", "")
}

fn nonzero(value: f64) -> f64 {
    if value > 0.0 { value } else { 1.0 }
}

fn finished(lines: &[String]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Range, Span};

    #[test]
    fn bars_grow_from_zero_and_show_their_spread() {
        let row = |label: &str, low: f64, high: f64| Range {
            label: label.to_owned(),
            low,
            mean: (low + high) / 2.0,
            high,
        };
        let chart = Ranges {
            title: "Waits".to_owned(),
            measure: Measure::Time,
            rows: vec![row("1", 1.0, 1.3), row("10", 8.0, 12.0), row("11", 0.0, f64::NAN)],
            from_zero: true,
            marks: vec![Mark {
                at: 10.0,
                label: "cap 10s".to_owned(),
            }],
        };
        insta::assert_snapshot!(ranges(&chart, 60));
    }

    #[test]
    fn strips_share_one_scale() {
        let wave = |name: &str, height: f64| Series {
            name: name.to_owned(),
            points: (0..=60)
                .map(|second| {
                    let second = f64::from(second);
                    (second, height * (-((second - 30.0) / 8.0).powi(2)).exp())
                })
                .collect(),
        };
        let chart = Lines {
            title: "Load".to_owned(),
            x: Axis {
                label: "since the outage began".to_owned(),
                measure: Measure::Time,
            },
            y: Axis {
                label: "requests a second".to_owned(),
                measure: Measure::PerSecond,
            },
            series: vec![wave("none", 900.0), wave("full", 120.0)],
            levels: vec![Mark {
                at: 500.0,
                label: "capacity 500/s".to_owned(),
            }],
            spans: vec![Span {
                from: 5.0,
                to: 15.0,
                label: "outage".to_owned(),
            }],
        };
        let drawn = lines(&chart, WIDTH);
        assert!(drawn.lines().all(|line| line.chars().count() <= WIDTH));
        insta::assert_snapshot!(drawn);
    }
}

//! Drawings for the terminal and as SVG, from one description each.
//!
//! Two shapes serve all commands: [`Ranges`] (a bar from shortest to longest in each row) and [`Lines`] (values over time, several
//! series). `terminal::ranges` and `terminal::lines` draw them with block characters; `svg::document` stacks them in one picture. The
//! same description always gives the same bytes. Both axes start at zero, so that lengths can be compared.

mod scale;
pub(crate) mod svg;
pub(crate) mod terminal;

pub(crate) use scale::Measure;

/// A bar from `low` to `high` in each row, with a mark at the mean.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    /// What the picture shows.
    pub(crate) title: String,
    /// What the values are.
    pub(crate) measure: Measure,
    /// The rows, from the top.
    pub(crate) rows: Vec<Range>,
    /// Whether the way from zero to `low` is part of each row: yes for a length, no for a moment.
    pub(crate) from_zero: bool,
    /// Values worth a line across all rows, such as a deadline.
    pub(crate) marks: Vec<Mark>,
}

/// One row of [`Ranges`]; `low <= mean <= high`.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) label: String,
    pub(crate) low: f64,
    pub(crate) mean: f64,
    pub(crate) high: f64,
}

/// Values over time or another quantity, one line a series.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    /// What the picture shows.
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// The lines, in the order of the legend.
    pub(crate) series: Vec<Series>,
    /// Heights worth a line from side to side, such as a server's capacity.
    pub(crate) levels: Vec<Mark>,
    /// Stretches of `x` worth a shade, such as an outage.
    pub(crate) spans: Vec<Span>,
}

/// What an axis says and measures.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) measure: Measure,
}

/// A line by its name. Points are in the order of `x`; a point that is not finite is left out.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A value with a name.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// A stretch with a name.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) label: String,
}

impl Ranges {
    /// The largest value drawn.
    fn top(&self) -> f64 {
        let rows = self.rows.iter().map(|row| row.high);
        largest(rows.chain(self.marks.iter().map(|mark| mark.at)))
    }
}

impl Lines {
    fn top(&self) -> f64 {
        let points = self.series.iter().flat_map(Series::finite).map(|(_, y)| y);
        largest(points.chain(self.levels.iter().map(|level| level.at)))
    }

    fn right(&self) -> f64 {
        let points = self.series.iter().flat_map(Series::finite).map(|(x, _)| x);
        largest(points.chain(self.spans.iter().map(|span| span.to)))
    }
}

impl Series {
    fn finite(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points
            .iter()
            .copied()
            .filter(|(x, y)| x.is_finite() && y.is_finite())
    }

    fn peak(&self) -> f64 {
        largest(self.finite().map(|(_, y)| y))
    }

    /// The points in `columns` equal parts of `0..=right`: the lowest and the highest in each, or the value of the line as it passes
    /// through where no point lies. A peak is never lost by being between two columns.
    fn columns(&self, right: f64, columns: usize) -> Vec<Option<(f64, f64)>> {
        let mut extremes: Vec<Option<(f64, f64)>> = vec![None; columns];
        let (Some(first), true) = (self.finite().next(), right > 0.0) else {
            return extremes;
        };
        let column_of = |x: f64| ((x / right * columns as f64) as usize).min(columns.saturating_sub(1));
        let mut previous = first;
        for (x, y) in self.finite() {
            let (from, to) = (column_of(previous.0), column_of(x));
            for (index, column) in extremes.iter_mut().enumerate().take(to).skip(from + 1) {
                let middle = (index as f64 + 0.5) / columns as f64 * right;
                let share = (middle - previous.0) / (x - previous.0);
                let passing = previous.1 + (y - previous.1) * share;
                *column = Some((passing, passing));
            }
            let (low, high) = extremes[to].unwrap_or((y, y));
            extremes[to] = Some((low.min(y), high.max(y)));
            previous = (x, y);
        }
        extremes
    }
}

/// The largest finite value, never below zero.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_between_columns_is_kept_and_gaps_are_bridged() {
        let series = Series {
            name: String::new(),
            points: vec![(0.0, 0.0), (0.1, 9.0), (0.2, 1.0), (f64::NAN, 7.0), (10.0, 11.0)],
        };
        let columns = series.columns(10.0, 5);
        assert_eq!(columns[0], Some((0.0, 9.0)));
        let (low, high) = columns[2].unwrap();
        assert!(low == high && (5.0..7.0).contains(&low), "{low}");
        assert_eq!(columns[4], Some((11.0, 11.0)));
    }

    #[test]
    fn a_series_without_a_point_has_no_column() {
        let series = Series {
            name: String::new(),
            points: vec![(f64::NAN, 1.0)],
        };
        assert_eq!(series.columns(1.0, 2), [None, None]);
        assert_eq!(series.peak(), 0.0);
    }
}

//! What a law found.

use serde::Serialize;

/// How a crate stands under one law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Kept,
    Broken,
    /// A figure with no pass or fail of its own.
    Measured,
    /// The crate has no such feature.
    Absent,
    /// The row is another configuration of the crate above, and this law does not depend on it.
    AsAbove,
}

/// One cell of the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    /// The measured figure in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) figure: Option<f64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) unit: &'static str,
    /// The figure as the table shows it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) shown: String,
    /// How many times the hand-written equivalent of the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) times_baseline: Option<f64>,
}

impl Finding {
    pub(crate) fn judged(kept: bool, figure: f64, unit: &'static str, shown: String) -> Self {
        let verdict = if kept { Verdict::Kept } else { Verdict::Broken };
        Self {
            verdict,
            figure: Some(figure),
            unit,
            shown,
            times_baseline: None,
        }
    }

    pub(crate) fn measured(figure: f64, unit: &'static str, shown: String) -> Self {
        Self {
            verdict: Verdict::Measured,
            figure: Some(figure),
            unit,
            shown,
            times_baseline: None,
        }
    }

    /// Nanoseconds beside those of the baseline.
    pub(crate) fn timed(nanoseconds: f64, baseline: f64) -> Self {
        let times = nanoseconds / baseline;
        Self {
            verdict: Verdict::Measured,
            figure: Some(nanoseconds),
            unit: "ns",
            shown: format!("{nanoseconds:.1} ns ({times:.1}×)"),
            times_baseline: Some(times),
        }
    }

    pub(crate) fn absent() -> Self {
        Self::empty(Verdict::Absent)
    }

    pub(crate) fn as_above() -> Self {
        Self::empty(Verdict::AsAbove)
    }

    fn empty(verdict: Verdict) -> Self {
        Self {
            verdict,
            figure: None,
            unit: "",
            shown: String::new(),
            times_baseline: None,
        }
    }

    /// The cell's text: a mark and the figure.
    pub(crate) fn cell(&self) -> String {
        let mark = match self.verdict {
            Verdict::Kept => "✓",
            Verdict::Broken => "✗",
            Verdict::Measured => "",
            Verdict::Absent => "–",
            Verdict::AsAbove => "″",
        };
        format!("{mark} {}", self.shown).trim().to_owned()
    }
}

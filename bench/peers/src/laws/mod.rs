//! The laws, one file each. Each says what it runs, what it counts as broken, and why.

pub(crate) mod allocations;
pub(crate) mod budget;
pub(crate) mod cap;
pub(crate) mod copies;
pub(crate) mod deadline;
pub(crate) mod first_try;
pub(crate) mod million;
pub(crate) mod retry_after;
pub(crate) mod spread;
pub(crate) mod wait_cost;

#[cfg(test)]
mod planted;

use tokio::runtime::{Builder, Runtime};

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    Cap,
    Spread,
    Copies,
    Million,
    RetryAfter,
    Deadline,
    Budget,
    FirstTry,
    Allocations,
    WaitCost,
}

impl Law {
    pub(crate) const ALL: [Self; 10] = [
        Self::Cap,
        Self::Spread,
        Self::Copies,
        Self::Million,
        Self::RetryAfter,
        Self::Deadline,
        Self::Budget,
        Self::FirstTry,
        Self::Allocations,
        Self::WaitCost,
    ];

    /// The name on the command line and in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cap => "cap",
            Self::Spread => "spread",
            Self::Copies => "copies",
            Self::Million => "million",
            Self::RetryAfter => "retry-after",
            Self::Deadline => "deadline",
            Self::Budget => "budget",
            Self::FirstTry => "first-try",
            Self::Allocations => "allocations",
            Self::WaitCost => "wait-cost",
        }
    }

    /// The column's heading.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Cap => "cap kept",
            Self::Spread => "jitter at cap",
            Self::Copies => "copies differ",
            Self::Million => "1,000,000 waits",
            Self::RetryAfter => "Retry-After",
            Self::Deadline => "deadline",
            Self::Budget => "budget 10 · 30 %",
            Self::FirstTry => "first try",
            Self::Allocations => "allocs",
            Self::WaitCost => "one wait",
        }
    }

    /// What the figure is, in one line.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Cap => "longest wait seen from the 12th on; the cap is 10 s",
            Self::Spread => "share of calls whose 12th wait is one and the same",
            Self::Copies => {
                "of 1,000 calls, those whose first eight waits no other has: sharing one backoff · each with its own, configured alike"
            }
            Self::Million => {
                "one call, 1,000,000 waits: no panic, no early end, none zero, none above twice the cap"
            }
            Self::RetryAfter => {
                "shortest wait after a server asked for 2 s and for 30 s, as a share of what it asked"
            }
            Self::Deadline => {
                "how far beyond the total time limit the last wait ended, as a share of the limit"
            }
            Self::Budget => "retries allowed for 10,000 failing calls at budgets of 10 % and 30 %",
            Self::FirstTry => {
                "an async call that succeeds at the first try, and how many bare awaits that is"
            }
            Self::Allocations => "allocations for each such call",
            Self::WaitCost => "one wait computed, and how many hand-written integer full jitters that is",
        }
    }

    /// Whether a crate passes or fails it; the rest are figures.
    pub(crate) fn judges(self) -> bool {
        !matches!(self, Self::FirstTry | Self::Allocations | Self::WaitCost)
    }
}

/// How much work a run puts into each law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Retried calls whose waits are looked at.
    pub(crate) sessions: usize,
    /// Copies of one configured backoff.
    pub(crate) copies: usize,
    /// Runs on a paused clock.
    pub(crate) runs: usize,
    /// Runs on the real clock, a quarter of a second or more each.
    pub(crate) real_runs: usize,
    /// Failing calls under one budget.
    pub(crate) budget_calls: u32,
    /// Timed rounds, of which the median counts.
    pub(crate) rounds: usize,
}

impl Effort {
    pub(crate) const FULL: Self = Self {
        sessions: 20_000,
        copies: 1_000,
        runs: 200,
        real_runs: 12,
        budget_calls: 10_000,
        rounds: 101,
    };
    pub(crate) const QUICK: Self = Self {
        sessions: 2_000,
        copies: 1_000,
        runs: 40,
        real_runs: 4,
        budget_calls: 10_000,
        rounds: 15,
    };
}

/// A runtime whose clock jumps from timer to timer, so that hours of waiting take no time and are exact.
pub(crate) fn paused_clock() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime needs no resources")
}

/// A runtime on the real clock.
pub(crate) fn real_clock() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime needs no resources")
}

/// The middle of the sorted figures.
pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

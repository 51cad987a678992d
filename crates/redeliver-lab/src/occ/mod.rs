//! AWS's contention model: many clients, one row, optimistic concurrency control.
//!
//! Every client reads the row's version, then writes with it; the write succeeds only if nobody else has written since. Each
//! message takes |N(10, 2)| ms on the way, so a try is four of them: the read there and back, the write there and back. A client
//! whose write was refused waits as its policy says and reads again, until it has written once. Counted are the
//! writes that were sent (*calls*) and when the last client knew that it had succeeded (*time*).
//!
//! The waits are [`redeliver_policy::Session`]'s own. AWS counts attempts from one, so that its first exponential wait is
//! twice the base; [`Kind::policy`] therefore starts there, but for decorrelated jitter, which starts at the base in both.
//!
//! ```
//! use redeliver_lab::occ::{Contention, Kind};
//!
//! let contention = Contention { clients: vec![20], runs: 10, ..Contention::default() };
//! let cells = contention.run(|_| {})?;
//! let calls = |kind| cells.iter().find(|cell| cell.kind == kind).map(|cell| cell.calls);
//! assert!(calls(Kind::Full) < calls(Kind::None));
//! # Ok::<(), redeliver_lab::OutOfRange>(())
//! ```

mod kind;
mod race;

use std::time::Duration;

use fastrand::Rng;
use redeliver_policy::duration;
use serde::Serialize;

pub use kind::{AWS_CLIENTS, AwsFigures, Kind};
use race::Race;

use crate::{OutOfRange, range::require};

/// The most clients that contend for the row.
pub const MAX_CLIENTS: u32 = 10_000;
/// The most runs that a cell is averaged over.
pub const MAX_RUNS: u32 = 100_000;
/// The longest base and cap.
pub const MAX_WAIT: Duration = Duration::from_secs(3_600);
/// The most writes that all cells together may come to: a few minutes' work.
pub const MAX_WRITES: u64 = 10_000_000_000;

/// Which cells of the table to work out, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    /// The numbers of clients, one row of cells each.
    pub clients: Vec<u32>,
    /// The policies to compare.
    pub kinds: Vec<Kind>,
    /// The runs that each cell is averaged over.
    pub runs: u32,
    /// AWS's base: half of the first exponential wait.
    pub base: Duration,
    /// The cap on every wait.
    pub max: Duration,
    /// Where chance starts. A cell depends on nothing but this, its kind and its clients.
    pub seed: u64,
}

impl Default for Contention {
    /// AWS's own table: 10, 20, … 100 clients, every kind, 100 runs, 5 ms to 2 s.
    fn default() -> Self {
        Self {
            clients: (1..=10).map(|tens| tens * 10).collect(),
            kinds: Kind::ALL.to_vec(),
            runs: 100,
            base: Duration::from_millis(5),
            max: Duration::from_secs(2),
            seed: 0,
        }
    }
}

/// One kind at one number of clients, averaged over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The policy.
    pub kind: Kind,
    /// How many clients contended.
    pub clients: u32,
    /// Writes sent, refused ones included.
    pub calls: f64,
    /// Milliseconds until the last client knew that it had succeeded.
    pub time_ms: f64,
}

impl Contention {
    /// Checks every number against its limit.
    ///
    /// # Errors
    /// The first that is out of range.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        for clients in &self.clients {
            require((1..=MAX_CLIENTS).contains(clients), "clients", clients, || {
                format!("must be 1 to {MAX_CLIENTS}")
            })?;
        }
        require((1..=MAX_RUNS).contains(&self.runs), "runs", &self.runs, || {
            format!("must be 1 to {MAX_RUNS}")
        })?;
        let shown = duration::display;
        require(!self.base.is_zero(), "base", &shown(self.base), || {
            "must be longer than 0s".to_owned()
        })?;
        require(
            self.base <= self.max && self.max <= MAX_WAIT,
            "max",
            &shown(self.max),
            || {
                format!(
                    "must be from the base, {}, to {}",
                    shown(self.base),
                    shown(MAX_WAIT)
                )
            },
        )?;
        require(self.most_writes() <= MAX_WRITES, "runs", &self.runs, || {
            format!(
                "all cells together may come to {} writes, more than {MAX_WRITES}; ask for fewer runs, clients or kinds",
                self.most_writes()
            )
        })
    }

    /// The most writes that all cells together can come to.
    ///
    /// Each of n successes refuses at most the n − 1 other clients' writes once, so a run never sends more than n².
    #[must_use]
    pub fn most_writes(&self) -> u64 {
        let each = |clients: &u32| u64::from(*clients) * u64::from(*clients);
        let squares: u64 = self.clients.iter().map(each).fold(0, u64::saturating_add);
        squares
            .saturating_mul(u64::from(self.runs))
            .saturating_mul(self.kinds.len() as u64)
    }

    /// Works out every cell, kind by kind, and tells `done` of each as it is ready.
    ///
    /// # Errors
    /// What [`validate`](Contention::validate) refuses.
    pub fn run(&self, mut done: impl FnMut(&Cell)) -> Result<Vec<Cell>, OutOfRange> {
        self.validate()?;
        let mut cells = Vec::with_capacity(self.kinds.len() * self.clients.len());
        for &kind in &self.kinds {
            let policy = kind.policy(self.base, self.max);
            for &clients in &self.clients {
                let mut race = Race::new(&policy, clients, self.rng(kind, clients));
                let (mut calls, mut nanos) = (0u64, 0u128);
                for _ in 0..self.runs {
                    let outcome = race.run();
                    calls += outcome.calls;
                    nanos += u128::from(outcome.nanos);
                }
                let cell = Cell {
                    kind,
                    clients,
                    calls: hundredths(calls as f64 / f64::from(self.runs)),
                    time_ms: hundredths(nanos as f64 / 1e6 / f64::from(self.runs)),
                };
                done(&cell);
                cells.push(cell);
            }
        }
        Ok(cells)
    }

    fn rng(&self, kind: Kind, clients: u32) -> Rng {
        let cell = (kind as u64) << 32 | u64::from(clients);
        let start = Rng::with_seed(self.seed).u64(..).wrapping_add(cell);
        Rng::with_seed(Rng::with_seed(start).u64(..))
    }
}

/// Cut to what means anything over a hundred runs, so that a table can be compared by eye.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

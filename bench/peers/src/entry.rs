//! One row of the table: a crate and the laws bound to it.

use crate::finding::Finding;
use crate::laws::{self, Effort, Law};
use crate::peer::{Job, Peer, Schedule};

/// A crate, or another configuration of one, with every law bound to its types.
pub(crate) struct Entry {
    pub(crate) package: &'static str,
    /// Set on a row that repeats a crate in the configuration its own docs show.
    pub(crate) as_documented: Option<&'static str>,
    pub(crate) settings: &'static str,
    checks: Checks,
    pub(crate) first_tries: fn(u32) -> Option<Job<'static>>,
    pub(crate) time_waits: fn() -> Option<f64>,
}

struct Checks {
    cap: fn(Effort) -> Finding,
    spread: fn(Effort) -> Finding,
    copies: fn(Effort) -> Finding,
    million: fn(Effort) -> Finding,
    retry_after: fn(Effort) -> Finding,
    deadline: fn(Effort) -> Finding,
    budget: fn(Effort) -> Finding,
}

impl Entry {
    /// The row of a crate in its best configuration.
    pub(crate) fn of<P: Peer>() -> Self {
        Self {
            package: P::PACKAGE,
            as_documented: None,
            settings: P::SETTINGS,
            checks: Checks {
                retry_after: laws::retry_after::check::<P>,
                deadline: laws::deadline::check::<P>,
                budget: laws::budget::check::<P>,
                ..Checks::of_schedule::<P::Schedule>()
            },
            first_tries: P::first_tries,
            time_waits: P::time_waits,
        }
    }

    /// The row of the same crate with the backoff its own docs show, where the best one differs.
    pub(crate) fn as_documented<P: Peer, S: Schedule>(settings: &'static str) -> Self {
        Self {
            package: P::PACKAGE,
            as_documented: Some("as its README"),
            settings,
            checks: Checks::of_schedule::<S>(),
            first_tries: |_| None,
            time_waits: || None,
        }
    }

    /// Runs one law that needs no comparison with other rows.
    pub(crate) fn check(&self, law: Law, effort: Effort) -> Finding {
        let check = match law {
            Law::Cap => self.checks.cap,
            Law::Spread => self.checks.spread,
            Law::Copies => self.checks.copies,
            Law::Million => self.checks.million,
            Law::RetryAfter => self.checks.retry_after,
            Law::Deadline => self.checks.deadline,
            Law::Budget => self.checks.budget,
            Law::FirstTry | Law::Allocations | Law::WaitCost => return Finding::absent(),
        };
        check(effort)
    }
}

impl Checks {
    /// The laws about waits alone; the others do not change with the backoff.
    fn of_schedule<S: Schedule>() -> Self {
        Self {
            cap: laws::cap::check::<S>,
            spread: laws::spread::check::<S>,
            copies: laws::copies::check::<S>,
            million: laws::million::check::<S>,
            retry_after: |_| Finding::as_above(),
            deadline: |_| Finding::as_above(),
            budget: |_| Finding::as_above(),
        }
    }
}

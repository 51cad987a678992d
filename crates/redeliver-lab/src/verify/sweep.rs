//! Many seeds on all cores.

use std::{
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use redeliver_outbox::plants::Plant;

use super::{
    report::{Counts, Violation},
    run::{CannotVerify, run_seed},
};

/// Which seeds to run.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// The first seed.
    pub first: u64,
    /// How many.
    pub seeds: u64,
    /// The bug that is planted, if one is.
    pub plant: Option<Plant>,
    /// How many at a time; none for one a core.
    pub threads: Option<usize>,
}

/// What many seeds came to.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// What happened in all of them.
    pub counts: Counts,
    /// The objection with the lowest seed, if there is one: nothing after it was begun.
    pub violation: Option<Violation>,
}

impl Sweep {
    /// Runs them until all are done or a checker objects, and tells after each how many are done.
    ///
    /// # Errors
    ///
    /// If a history could not be run at all.
    pub fn run(&self, progress: impl Fn(&Counts) + Sync) -> Result<Swept, CannotVerify> {
        let threads = self
            .threads
            .or_else(|| thread::available_parallelism().ok().map(NonZero::get))
            .unwrap_or(1);
        let (next, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let swept = Mutex::new(Ok(Swept::default()));
        let work = || {
            while !over.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= self.seeds {
                    return;
                }
                let outcome = run_seed(self.first.wrapping_add(at), self.plant);
                let mut shared = swept.lock().unwrap_or_else(PoisonError::into_inner);
                match (outcome, shared.as_mut()) {
                    (Ok(outcome), Ok(swept)) => {
                        swept.counts.add(&outcome.counts);
                        if let Some(violation) = outcome.violation {
                            over.store(true, Ordering::Relaxed);
                            let earlier = swept
                                .violation
                                .as_ref()
                                .is_some_and(|other| other.seed < violation.seed);
                            if !earlier {
                                swept.violation = Some(violation);
                            }
                        }
                        progress(&swept.counts);
                    }
                    (Err(error), Ok(_)) => {
                        over.store(true, Ordering::Relaxed);
                        *shared = Err(error);
                    }
                    (_, Err(_)) => return,
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        swept.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

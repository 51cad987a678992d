//! One wait: what it costs to compute, beside the least it could cost.
//!
//! Prepares a few hundred sessions, then times sixteen waits of each, so that building a session is not in the figure;
//! the hand-written equivalent, an integer full jitter, runs in the same rounds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::{Effort, median, real_clock};
use crate::entry::Entry;
use crate::finding::Finding;
use crate::peer::{BASE, CAP, Schedule};

const SESSIONS: usize = 256;
const WAITS: usize = 16;

/// A figure for every entry, and the hand-written one's own.
pub(crate) fn measure(entries: &[Entry], effort: Effort) -> (Vec<Finding>, f64) {
    let runtime = real_clock();
    let _inside = runtime.enter();
    let mut by_hand = Vec::new();
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); entries.len()];
    for _ in 0..effort.rounds {
        by_hand.push(batch::<ByHand>());
        for (entry, figures) in entries.iter().zip(&mut rounds) {
            figures.extend((entry.time_waits)());
        }
    }
    let by_hand = median(&mut by_hand);
    let findings = entries
        .iter()
        .zip(&mut rounds)
        .map(|(entry, figures)| match figures.as_mut_slice() {
            [] if entry.as_documented.is_some() => Finding::as_above(),
            [] => Finding::absent(),
            figures => Finding::timed(median(figures), by_hand),
        });
    (findings.collect(), by_hand)
}

/// Nanoseconds for one wait, over one batch.
pub(crate) fn batch<S: Schedule>() -> f64 {
    let settings = S::settings();
    let mut sessions: Vec<S> = (0..SESSIONS).map(|_| S::start(&settings)).collect();
    let began = Instant::now();
    for session in &mut sessions {
        for _ in 0..WAITS {
            black_box(session.next_wait());
        }
    }
    began.elapsed().as_nanos() as f64 / (SESSIONS * WAITS) as f64
}

/// Full jitter in integers: a uniform draw below a ceiling that doubles up to the cap.
pub(crate) struct ByHand {
    chance: fastrand::Rng,
    ceiling: u64,
}

const BASE_NANOSECONDS: u64 = BASE.as_nanos() as u64;
const CAP_NANOSECONDS: u64 = CAP.as_nanos() as u64;

impl Schedule for ByHand {
    type Settings = ();

    fn settings() {}

    fn start((): &()) -> Self {
        Self {
            chance: fastrand::Rng::new(),
            ceiling: BASE_NANOSECONDS,
        }
    }

    fn next_wait(&mut self) -> Option<Duration> {
        let wait = self.chance.u64(0..=self.ceiling);
        self.ceiling = (self.ceiling * 2).min(CAP_NANOSECONDS);
        Some(Duration::from_nanos(wait))
    }
}

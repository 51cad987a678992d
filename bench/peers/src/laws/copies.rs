//! Copies differ: clients that share one configuration do not retry in step.
//!
//! Compares the first eight waits of many calls, twice. First of calls that share one configured backoff, cloned where
//! the crate's type clones. Then of backoffs each configured anew from the same numbers, as the processes of one fleet
//! are. A hundredth may coincide, so that a coarse jitter is not taken for a shared seed.

use std::collections::HashMap;
use std::time::Duration;

use super::{Effort, paused_clock};
use crate::finding::Finding;
use crate::peer::Schedule;

const WAITS: usize = 8;
const SHARE: f64 = 0.99;

pub(crate) fn check<S: Schedule>(effort: Effort) -> Finding {
    let runtime = paused_clock();
    let _inside = runtime.enter();
    let shared = S::settings();
    let cloned = unlike_any_other((0..effort.copies).map(|_| waits(&mut S::start(&shared))));
    let anew = unlike_any_other((0..effort.copies).map(|_| waits(&mut S::start(&S::settings()))));
    let fewest = cloned.min(anew);
    let kept = fewest as f64 >= effort.copies as f64 * SHARE;
    Finding::judged(
        kept,
        fewest as f64,
        "unlike any other",
        format!("{cloned} · {anew}"),
    )
}

fn waits<S: Schedule>(session: &mut S) -> Vec<Duration> {
    (0..WAITS).map_while(|_| session.next_wait()).collect()
}

fn unlike_any_other(schedules: impl Iterator<Item = Vec<Duration>>) -> usize {
    let mut seen: HashMap<Vec<Duration>, u32> = HashMap::new();
    for schedule in schedules {
        *seen.entry(schedule).or_default() += 1;
    }
    seen.values().filter(|count| **count == 1).count()
}

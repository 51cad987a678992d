//! Jitter alive at the cap: when everyone has reached the longest wait, they still do not wait the same time.
//!
//! Takes the 12th wait of many calls and counts the most common value. Half of them on one value is already a herd.

use std::collections::HashMap;

use super::{Effort, paused_clock};
use crate::finding::Finding;
use crate::peer::{CAPPED_DELAY, Schedule};

/// The share of identical waits from which the jitter counts as gone.
const HERD: f64 = 0.5;

pub(crate) fn check<S: Schedule>(effort: Effort) -> Finding {
    let runtime = paused_clock();
    let _inside = runtime.enter();
    let settings = S::settings();
    let mut counts = HashMap::new();
    for _ in 0..effort.sessions {
        let mut session = S::start(&settings);
        let waits = (0..CAPPED_DELAY).map_while(|_| session.next_wait());
        *counts.entry(waits.last()).or_insert(0_u32) += 1;
    }
    let most = counts.values().copied().max().unwrap_or_default();
    let share = f64::from(most) / effort.sessions as f64;
    let percent = share * 100.0;
    Finding::judged(
        share < HERD,
        percent,
        "% identical",
        format!("{percent:.1} % same"),
    )
}

//! Cap kept: no wait is longer than the longest wait the user asked for.
//!
//! Looks at the 12th to 16th wait of many calls, where doubling alone is far past the cap and only the cap, and
//! whatever the crate adds after it, decides.

use std::time::Duration;

use super::{Effort, paused_clock};
use crate::finding::Finding;
use crate::peer::{CAP, CAPPED_DELAY, Schedule};

const LAST_DELAY: usize = 16;

pub(crate) fn check<S: Schedule>(effort: Effort) -> Finding {
    let runtime = paused_clock();
    let _inside = runtime.enter();
    let settings = S::settings();
    let longest = (0..effort.sessions)
        .flat_map(|_| late_waits(&mut S::start(&settings)))
        .max()
        .unwrap_or_default();
    let seconds = longest.as_secs_f64();
    Finding::judged(longest <= CAP, seconds, "s", format!("{seconds:.3} s"))
}

fn late_waits<S: Schedule>(session: &mut S) -> Vec<Duration> {
    let waits: Vec<_> = (0..LAST_DELAY).map_while(|_| session.next_wait()).collect();
    waits.into_iter().skip(CAPPED_DELAY - 1).collect()
}

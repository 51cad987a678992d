//! A million waits: a client that retries for months neither panics nor starts to hammer.
//!
//! Asks one session for 1,000,000 waits. Broken by a panic, by giving up without having been told to, by a wait above
//! twice the cap, or by more than one wait in a thousand being zero (full jitter may draw a zero, once in ten billion).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{Effort, paused_clock};
use crate::finding::Finding;
use crate::peer::{CAP, Schedule};

const WAITS: u32 = 1_000_000;
const ABSURD: Duration = Duration::from_secs(2 * CAP.as_secs());
const ZEROS_ALLOWED: u32 = WAITS / 1_000;

pub(crate) fn check<S: Schedule>(_effort: Effort) -> Finding {
    let runtime = paused_clock();
    let _inside = runtime.enter();
    let mut asked = 0;
    let outcome = catch_unwind(AssertUnwindSafe(|| run::<S>(&mut asked)));
    let made = f64::from(asked);
    match outcome {
        Ok(Ok(())) => Finding::judged(true, made, "waits", String::new()),
        Ok(Err(fault)) => Finding::judged(false, made, "waits", fault),
        Err(_) => Finding::judged(false, made, "waits", format!("panic at {asked}")),
    }
}

fn run<S: Schedule>(asked: &mut u32) -> Result<(), String> {
    let mut session = S::start(&S::settings());
    let mut zeros = 0;
    for number in 1..=WAITS {
        *asked = number;
        match session.next_wait() {
            None => return Err(format!("ends at {number}")),
            Some(wait) if wait > ABSURD => return Err(format!("{} s at {number}", wait.as_secs())),
            Some(wait) if wait.is_zero() => zeros += 1,
            Some(_) => {}
        }
    }
    if zeros > ZEROS_ALLOWED {
        Err(format!("{zeros} zeros"))
    } else {
        Ok(())
    }
}

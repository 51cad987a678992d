//! Deadline kept: a call given a total time does not sleep beyond it.
//!
//! A server always fails, a quarter of a second after each call; the client may take 10 s in all, with waits from 0.4
//! to 10 s. Runs many times on a paused clock and takes the worst: when the last attempt began, or when the crate gave
//! up if it slept after that. An attempt in flight is the caller's to bound and is not counted. A crate whose limit
//! reads the system's clock runs at a fortieth of these times on the real one.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{Effort, paused_clock, real_clock};
use crate::finding::Finding;
use crate::peer::{Limits, Peer};
use crate::server::Server;

struct Scenario {
    limits: Limits,
    work: Duration,
    /// What a timer may be late by: tokio's wheel turns in milliseconds, and a busy machine in more.
    slack: Duration,
}

const PAUSED: Scenario = Scenario {
    limits: Limits {
        base: Duration::from_millis(400),
        cap: Duration::from_secs(10),
        total: Duration::from_secs(10),
    },
    work: Duration::from_millis(250),
    slack: Duration::from_millis(2),
};

const REAL: Scenario = Scenario {
    limits: Limits {
        base: Duration::from_millis(10),
        cap: Duration::from_millis(250),
        total: Duration::from_millis(250),
    },
    work: Duration::from_millis(6),
    slack: Duration::from_millis(10),
};

/// A run that has not ended after so many limits is ended.
const BOUND: u32 = 20;

pub(crate) fn check<P: Peer>(effort: Effort) -> Finding {
    let (scenario, runs) = if P::REAL_CLOCK {
        (REAL, effort.real_runs)
    } else {
        (PAUSED, effort.runs)
    };
    let mut worst = Duration::ZERO;
    for _ in 0..runs {
        match lateness::<P>(&scenario) {
            None => return Finding::absent(),
            Some(late) => worst = worst.max(late),
        }
    }
    let late = worst.saturating_sub(scenario.slack);
    let percent = late.as_secs_f64() / scenario.limits.total.as_secs_f64() * 100.0;
    Finding::judged(late.is_zero(), percent, "% past", format!("{percent:.0} % past"))
}

fn lateness<P: Peer>(scenario: &Scenario) -> Option<Duration> {
    let server = Server::down(scenario.work);
    let runtime = if P::REAL_CLOCK {
        real_clock()
    } else {
        paused_clock()
    };
    let limits = scenario.limits;
    let job = P::keep_deadline(&server, limits)?;
    let (began, ended) = runtime.block_on(async {
        let began = Instant::now();
        let _ = timeout(limits.total * BOUND, job).await;
        (began, Instant::now())
    });
    let last = *server.seen().last()?;
    let slept_after = last.answered.is_some_and(|answered| ended > answered);
    let last_wait_ended = if slept_after { ended } else { last.came };
    Some(last_wait_ended.saturating_duration_since(began + limits.total))
}

//! Deadline kept: a call given a total time does not sleep beyond it.
//!
//! A server always fails, half a second after each call; the client waits from 0.4 to 10 s and may take 5 to 15 s in
//! all, another limit in every run so that none is lucky. Takes the worst run: when the last attempt began, or when the
//! crate gave up if it slept after that. An attempt in flight is the caller's to bound and is not counted. A crate whose
//! limit reads the system's clock runs at a fortieth of these times on the real one.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{Effort, paused_clock, real_clock};
use crate::finding::Finding;
use crate::peer::{Limits, Peer};
use crate::server::Server;

struct Scenario {
    base: Duration,
    cap: Duration,
    /// The shortest limit; the longest is three times that.
    shortest: Duration,
    work: Duration,
    /// What a timer may be late by: tokio's wheel turns in milliseconds, and a busy machine in more.
    slack: Duration,
}

const PAUSED: Scenario = Scenario {
    base: Duration::from_millis(400),
    cap: Duration::from_secs(10),
    shortest: Duration::from_secs(5),
    work: Duration::from_millis(500),
    slack: Duration::from_millis(2),
};

const REAL: Scenario = Scenario {
    base: Duration::from_millis(10),
    cap: Duration::from_millis(250),
    shortest: Duration::from_millis(125),
    work: Duration::from_millis(12),
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
    let mut worst = 0.0_f64;
    for run in 0..runs {
        let total = scenario.shortest.mul_f64(1.0 + 2.0 * run as f64 / runs as f64);
        match lateness::<P>(&scenario, total) {
            None => return Finding::absent(),
            Some(late) => {
                let counted = late.saturating_sub(scenario.slack);
                worst = worst.max(counted.as_secs_f64() / total.as_secs_f64());
            }
        }
    }
    let percent = worst * 100.0;
    Finding::judged(worst == 0.0, percent, "% past", format!("{percent:.0} % past"))
}

fn lateness<P: Peer>(scenario: &Scenario, total: Duration) -> Option<Duration> {
    let server = Server::down(scenario.work);
    let runtime = if P::REAL_CLOCK {
        real_clock()
    } else {
        paused_clock()
    };
    let limits = Limits {
        base: scenario.base,
        cap: scenario.cap,
        total,
    };
    let job = P::keep_deadline(&server, limits)?;
    let (began, ended) = runtime.block_on(async {
        let began = Instant::now();
        let _ = timeout(total * BOUND, job).await;
        (began, Instant::now())
    });
    let last = *server.seen().last()?;
    let slept_after = last.answered.is_some_and(|answered| ended > answered);
    let last_wait_ended = if slept_after { ended } else { last.came };
    Some(last_wait_ended.saturating_duration_since(began + total))
}

//! Budget ratio exact: a budget of a tenth allows a tenth.
//!
//! Makes 10,000 failing calls under one shared budget with the crate's lowest floor, first at 10 % and then at 30 %,
//! and counts the retries the server saw. Broken when either is more than one away from the ratio, the floor granted.

use std::time::Duration;

use super::{Effort, paused_clock};
use crate::finding::Finding;
use crate::peer::Peer;
use crate::server::Server;

const RATIOS: [f64; 2] = [0.1, 0.3];
const TOLERANCE: f64 = 1.0;

pub(crate) fn check<P: Peer>(effort: Effort) -> Finding {
    let calls = effort.budget_calls;
    let mut worst = 0.0_f64;
    let mut counted = Vec::new();
    for ratio in RATIOS {
        let server = Server::down(Duration::ZERO);
        let Some(job) = P::spend_budget(&server, calls, ratio) else {
            return Finding::absent();
        };
        paused_clock().block_on(job);
        let retries = server.seen().len() as f64 - f64::from(calls);
        let least = f64::from(calls) * ratio;
        let most = least + f64::from(P::BUDGET_FLOOR);
        worst = worst.max(least - retries).max(retries - most);
        counted.push(format!("{retries}"));
    }
    Finding::judged(worst <= TOLERANCE, worst, "retries off", counted.join(" · "))
}

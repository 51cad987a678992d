//! Retry-After obeyed: a server that names a wait is not called sooner.
//!
//! A server refuses twice, asking for 2 s and then for 30 s, which is beyond the backoff's own cap, and then answers.
//! Runs on a paused clock and takes the waits from the server's own notes. Broken by a shorter wait, by one above
//! twice what was asked, or by not coming back.

use std::time::Duration;

use tokio::time::timeout;

use super::{Effort, paused_clock};
use crate::finding::Finding;
use crate::peer::Peer;
use crate::server::Server;

const HINTS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(30)];
const TOO_LONG: f64 = 2.0;
/// Virtual time after which a run that has not ended is ended.
const BOUND: Duration = Duration::from_secs(3_600);

pub(crate) fn check<P: Peer>(effort: Effort) -> Finding {
    let mut shares = Vec::new();
    for _ in 0..effort.runs {
        let server = Server::hinting(&HINTS);
        let Some(job) = P::obey_hints(&server) else {
            return Finding::absent();
        };
        let ended = paused_clock().block_on(async { timeout(BOUND, job).await.is_ok() });
        let seen = server.seen();
        if !ended || seen.len() != HINTS.len() + 1 {
            let calls = seen.len();
            return Finding::judged(false, calls as f64, "calls", format!("{calls} calls"));
        }
        let waits = seen.windows(2).map(|pair| pair[1].came - pair[0].came);
        shares.extend(
            waits
                .zip(HINTS)
                .map(|(wait, hint)| wait.as_secs_f64() / hint.as_secs_f64()),
        );
    }
    let shortest = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = shares.iter().copied().fold(0.0, f64::max);
    let percent = shortest * 100.0;
    let kept = shortest >= 1.0 && longest <= TOO_LONG;
    Finding::judged(kept, percent, "% of the hint", format!("{percent:.0} %"))
}

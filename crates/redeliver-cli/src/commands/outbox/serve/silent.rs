use std::{convert::Infallible, sync::Arc, time::Duration};

use redeliver::clock;
use redeliver_outbox::{
    desk::{Pulse, WorkerRecord},
    relay::Figures,
};

use super::{super::database::Outbox, figures::Sum, telling::Telling};

/// When it is looked first; later looks are further apart.
const SOONEST: Duration = Duration::from_millis(500);

/// Tells once whose lease is waited for, if a relay that has just started finds every shard held by a worker that has gone silent.
pub(super) async fn tell(telling: Telling, outbox: &Outbox, figures: &[Arc<Figures>]) -> Infallible {
    let lease = outbox.settings.relay.lease;
    let start = clock::now();
    let mut pause = SOONEST.min(lease / 8);
    // By then the lease of whoever was silent at the start has ended.
    while clock::now().since(start) < lease {
        clock::sleep(pause).await;
        if Sum::of(figures).shards > 0 {
            break;
        }
        let before = clock::now();
        // A database in trouble is told by the relay.
        if let Ok(pulse) = outbox.desk().pulse().await
            && let Some((worker, left)) = silent(&pulse, lease)
        {
            telling.silent(&worker.id, left);
            break;
        }
        let took = clock::now().since(before);
        pause = pause
            .saturating_mul(2)
            .min(lease / 8)
            .max(took.saturating_mul(10));
    }
    std::future::pending().await
}

/// The worker whose lease ends last of those that own shards and do not beat any more, and in how much time, if all have the same.
fn silent(pulse: &Pulse, lease: Duration) -> Option<(&WorkerRecord, Duration)> {
    if pulse.shards_without_owner > 0 {
        return None;
    }
    let owners = pulse
        .workers
        .iter()
        .filter(|worker| worker.alive && worker.shards > 0);
    let silence = |worker: &WorkerRecord| pulse.now.since(worker.seen_at);
    // A worker beats three times in a lease.
    let quiet = owners.filter(|worker| silence(worker) > lease / 2);
    let last = quiet.min_by_key(|worker| silence(worker))?;
    Some((last, lease.saturating_sub(silence(last))))
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::{Timestamp, live::Live};

    use super::*;

    fn worker(id: &str, seen_at: i64, alive: bool, shards: u32) -> WorkerRecord {
        WorkerRecord {
            id: id.to_owned(),
            started_at: Timestamp::default(),
            seen_at: Timestamp::from_millis(seen_at),
            alive,
            shards,
            in_flight: 0,
            destinations: Live::new(),
        }
    }

    #[test]
    fn only_an_owner_that_beats_no_more_is_waited_for() {
        let lease = Duration::from_secs(10);
        let mut pulse = Pulse {
            now: Timestamp::from_millis(100_000),
            ..Pulse::default()
        };
        pulse.workers = vec![
            worker("beats", 97_000, true, 1),
            worker("owns nothing", 93_000, true, 0),
            worker("is gone", 80_000, false, 1),
        ];
        assert_eq!(silent(&pulse, lease), None);
        pulse.workers.push(worker("was killed", 94_000, true, 1));
        let (found, left) = silent(&pulse, lease).unwrap();
        assert_eq!((found.id.as_str(), left), ("was killed", Duration::from_secs(4)));
        pulse.shards_without_owner = 1;
        assert_eq!(silent(&pulse, lease), None, "there is something to do");
    }
}

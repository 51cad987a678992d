//! Browsers that come and go while one relay works: a machine that is shared changes too much from one drain to the next to show a few percent,
//! and hardly within some seconds.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use redeliver::clock;

use crate::{
    Outcome,
    browsers::{Watching, mean},
    outbox::Outbox,
    relay::Relay,
};

/// How long they stay, and how long they are away: each of them asks once in this time.
const TURN: Duration = Duration::from_secs(2);
/// What of a turn is not counted: what was asked for before it may still be under way.
const SETTLING: Duration = Duration::from_millis(300);

pub(crate) async fn measure(
    outbox: &Outbox,
    messages: i64,
    received: &AtomicU64,
    pages: &[Vec<String>],
    round: i64,
) -> Outcome<()> {
    let before = received.load(Ordering::Relaxed);
    let relay = Relay::start(outbox, &[])?;
    // A relay that has just begun, and one that has nearly ended, are not at full speed.
    let (from, to) = (
        before + messages.unsigned_abs() / 20,
        before + messages.unsigned_abs() * 9 / 10,
    );
    while received.load(Ordering::Relaxed) < from {
        clock::sleep(SETTLING).await;
    }
    let watching = Watching::begin(&relay, pages);
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    while received.load(Ordering::Relaxed) < to {
        // Who is first changes from pair to pair, so that a drain that becomes slower or faster favours nobody.
        let alone_first = pairs.len().is_multiple_of(2);
        let one = turn(&watching, received, !alone_first).await;
        let other = turn(&watching, received, alone_first).await;
        if received.load(Ordering::Relaxed) < to {
            pairs.push(if alone_first { (one, other) } else { (other, one) });
        }
    }
    let (rate, _) = mean(&pairs, |(alone, _)| *alone);
    let (cost, or_so) = mean(&pairs, |(alone, watched)| 1.0 - watched / alone);
    println!(
        "  round {round}: browsers cost {:.1} ± {:.1} % of {rate:.0} a second, in {} pairs of turns",
        cost * 100.0,
        or_so * 100.0,
        pairs.len()
    );
    drop(relay);
    outbox.empty().await
}

/// Messages a second.
async fn turn(watching: &Watching, received: &AtomicU64, looking: bool) -> f64 {
    watching.looking.store(looking, Ordering::Relaxed);
    clock::sleep(SETTLING).await;
    let (begun, before) = (clock::now(), received.load(Ordering::Relaxed));
    clock::sleep(TURN).await;
    (received.load(Ordering::Relaxed) - before) as f64 / clock::now().since(begun).as_secs_f64()
}

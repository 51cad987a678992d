//! Verdicts that the database refuses: the real relay on SQLite in memory, in virtual time, with constraints and triggers of an
//! operator's, and with a store that fails for one message only.
#![cfg(feature = "sqlite")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing test may say so in its own words"
)]

mod lanes;
mod outbox;

use std::time::Duration;

use outbox::{Api, Outbox};
use redeliver::clock;
use redeliver_outbox::store::StoreErrorKind;

const SECOND: Duration = Duration::from_secs(1);
/// Longer than any wait between two tries to write a verdict.
const LONG: Duration = Duration::from_secs(180);

const REFUSE_DEAD: &str = "CREATE TRIGGER refuse BEFORE INSERT ON redeliver_dead WHEN NEW.destination = 'bad'
     BEGIN SELECT RAISE(ABORT, 'not while we count'); END";

#[tokio::test(start_paused = true)]
async fn what_a_trigger_refuses_stops_neither_others_nor_a_restart_and_is_settled_in_the_end() {
    let (outbox, api) = (Outbox::new(2).await, Api::default());
    outbox.execute(REFUSE_DEAD);
    outbox.enqueue("bad", 3, None).await;
    outbox.enqueue("good", 200, None).await;
    let running = outbox.relay(&api, "w1");
    outbox.until_sent("good", 200).await;
    assert_eq!(outbox.count("SELECT count(*) FROM redeliver_dead"), 0);
    clock::sleep(LONG).await;
    assert_eq!(
        api.attempts("bad").len(),
        3,
        "none is sent again by the same relay"
    );

    let began = clock::now();
    running.stop().await;
    assert!(
        clock::now().since(began) < SECOND * 5,
        "it does not prevent a stop"
    );
    let next = outbox.relay(&api, "w2");
    outbox.enqueue("good", 200, None).await;
    outbox.until_sent("good", 400).await;
    clock::sleep(LONG).await;
    assert_eq!(
        api.attempts("bad").len(),
        6,
        "the next owner cannot know how they ended"
    );

    outbox.execute("DROP TRIGGER refuse");
    clock::sleep(LONG).await;
    assert_eq!(outbox.count("SELECT count(*) FROM redeliver_dead"), 3);
    assert_eq!(outbox.count("SELECT count(*) FROM redeliver_outbox"), 0);
    assert_eq!(
        api.attempts("bad").len(),
        6,
        "a verdict is not a reason to send again"
    );
    next.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_with_a_refused_count_lets_all_else_flow() {
    let (outbox, api) = (Outbox::new(1).await, Api::default());
    outbox.enqueue("bad", 1, None).await;
    outbox.enqueue("good", 50, None).await;
    // Its owner crashed, so that each attempt is counted first, and the database refuses the count of one.
    outbox.execute(
        "UPDATE redeliver_shards SET owner = 'gone', clean = 0, held = 1024, epoch = 1;
         CREATE TRIGGER refuse BEFORE UPDATE ON redeliver_outbox WHEN NEW.destination = 'bad'
         BEGIN SELECT RAISE(ABORT, 'not while we count'); END",
    );
    let running = outbox.relay(&api, "w1");
    outbox.until_sent("good", 50).await;
    assert_eq!(api.attempts("bad").len(), 0, "what cannot be counted is not sent");
    outbox.execute("DROP TRIGGER refuse");
    clock::sleep(LONG).await;
    assert_eq!(api.attempts("bad").len(), 1);
    let attempts = outbox.count("SELECT attempts FROM redeliver_dead");
    assert_eq!(attempts, 1, "it was counted once");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_lane_of_a_refused_verdict_waits_and_keeps_its_order() {
    let (outbox, api) = (Outbox::new(1).await, Api::default());
    outbox.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON redeliver_sent WHEN NEW.number = 1
         BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    );
    outbox.enqueue("good", 100, Some("a")).await;
    outbox.enqueue("good", 100, Some("b")).await;
    let running = outbox.relay(&api, "w1");
    outbox.until_sent("good", 100).await;
    clock::sleep(LONG).await;
    assert_eq!(
        api.attempts("good")
            .iter()
            .filter(|&&number| number <= 100)
            .count(),
        1
    );
    outbox.execute("DROP TRIGGER refuse");
    outbox.until_sent("good", 200).await;
    let lane: Vec<i64> = api
        .attempts("good")
        .into_iter()
        .filter(|&number| number <= 100)
        .collect();
    assert_eq!(lane, (1..=100).collect::<Vec<i64>>(), "in order, each once");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn more_refused_verdicts_than_a_window_holds_stop_nobody_else() {
    let (outbox, api) = (Outbox::new(2).await, Api::default());
    outbox.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON redeliver_sent WHEN NEW.destination = 'odd'
         BEGIN SELECT RAISE(ABORT, 'not while we count'); END",
    );
    outbox.enqueue("odd", 3000, None).await;
    outbox.enqueue("nobody", 3000, None).await;
    outbox.execute(
        "CREATE TRIGGER refuse_more BEFORE INSERT ON redeliver_dead WHEN NEW.destination = 'nobody'
         BEGIN SELECT RAISE(ABORT, 'nor this'); END",
    );
    outbox.enqueue("good", 500, None).await;
    let running = outbox.relay(&api, "w1");
    outbox.until_sent("good", 500).await;
    clock::sleep(LONG).await;
    let tried = api.attempts("odd").len();
    assert!(
        tried < 300,
        "{tried} were sent to a destination whose verdicts cannot be written"
    );
    outbox.enqueue("good", 500, None).await;
    outbox.until_sent("good", 1000).await;
    outbox.execute("DROP TRIGGER refuse; DROP TRIGGER refuse_more");
    for _ in 0..600 {
        clock::sleep(SECOND).await;
        if outbox.count("SELECT count(*) FROM redeliver_outbox") == 0 {
            break;
        }
    }
    assert_eq!(
        outbox.count("SELECT count(*) FROM redeliver_sent WHERE destination = 'odd'"),
        3000
    );
    assert_eq!(
        outbox.count("SELECT count(*) FROM redeliver_dead WHERE destination = 'nobody'"),
        3000
    );
    assert_eq!(api.attempts("odd").len(), 3000, "each was sent once");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_of_any_kind_that_one_verdict_always_meets_stops_nobody_else() {
    for kind in [
        StoreErrorKind::Other,
        StoreErrorKind::Refused,
        StoreErrorKind::Denied,
        StoreErrorKind::Unreachable,
    ] {
        let (outbox, api) = (Outbox::new(1).await, Api::default());
        outbox.refuse(move |settlement| (settlement.number() == 7).then_some(kind));
        outbox.enqueue("good", 200, None).await;
        let running = outbox.relay(&api, "w1");
        outbox.until_sent("good", 199).await;
        outbox.refuse(|_| None);
        outbox.until_sent("good", 200).await;
        assert_eq!(api.attempts("good").len(), 200, "{kind:?}: each was sent once");
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_waited_out_and_no_batch_is_split_for_it() {
    let (outbox, api) = (Outbox::new(1).await, Api::default());
    outbox.enqueue("good", 500, None).await;
    let running = outbox.relay(&api, "w1");
    outbox.refuse(|_| Some(StoreErrorKind::ReadOnly));
    clock::sleep(SECOND * 10).await;
    let tried = *outbox.settles.lock().unwrap();
    assert!(tried < 40, "{tried} settles in ten seconds of an outage");
    outbox.refuse(|_| None);
    outbox.until_sent("good", 500).await;
    assert_eq!(api.attempts("good").len(), 500);
    running.stop().await;
}

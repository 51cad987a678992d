//! Messages that wait for a time or for their shard beside verdicts that the database refuses.

use redeliver::clock;
use redeliver_outbox::{NewMessage, desk::Desk as _};

use super::{
    LONG, SECOND,
    outbox::{Api, Outbox},
};

const REFUSE_UPDATES: &str = "CREATE TRIGGER refuse BEFORE UPDATE ON redeliver_outbox
     BEGIN SELECT RAISE(ABORT, 'not while we count'); END";

#[tokio::test(start_paused = true)]
async fn a_message_that_becomes_due_behind_a_refused_verdict_waits_about_as_long_as_that() {
    let (outbox, api) = (Outbox::new(1).await, Api::default());
    outbox.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON redeliver_sent WHEN NEW.number = 1
         BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    );
    let message = || NewMessage::to("good").payload("{}").key("a");
    let messages = [message(), message().delay(SECOND), message()];
    outbox.store.enqueue(&messages).await.unwrap();
    let (running, began) = (outbox.relay(&api, "w1"), clock::now());
    clock::sleep(SECOND * 3).await;
    outbox.execute("DROP TRIGGER refuse");
    while outbox.count("SELECT count(*) FROM redeliver_sent") == 0 {
        clock::sleep(SECOND / 10).await;
    }
    let refused_for = clock::now().since(began);
    assert!(refused_for < SECOND * 30, "{refused_for:?}");
    clock::sleep(refused_for + SECOND).await;
    assert_eq!(api.attempts("good"), [1, 2, 3]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_refusal_does_not_make_its_lane_look_every_second() {
    let (outbox, api) = (Outbox::new(1).await, Api::default());
    outbox.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON redeliver_sent WHEN NEW.number = 1
         BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    );
    let message = || NewMessage::to("good").payload("{}").key("a");
    let messages = [message(), message().delay(SECOND)];
    outbox.store.enqueue(&messages).await.unwrap();
    let running = outbox.relay(&api, "w1");
    clock::sleep(LONG * 4).await;
    let settles = *outbox.settles.lock().unwrap();
    assert!(settles < 60, "{settles} settles in twelve minutes");
    running.stop().await;
}

/// More than a relay sets aside: the rest is forgotten, and read again with its shard.
#[tokio::test(start_paused = true)]
async fn scheduled_messages_that_were_forgotten_go_when_their_time_has_passed() {
    let (outbox, api) = (Outbox::new(1).await, Api::default());
    outbox.execute(REFUSE_UPDATES);
    let key = |at: usize| format!("lane-{}", at / 2);
    let messages = (0..240).map(|at| {
        let message = NewMessage::to("good").payload("{}").key(key(at));
        if at % 2 == 0 {
            message.delay(SECOND * 10)
        } else {
            message
        }
    });
    let messages: Vec<_> = messages.collect();
    outbox.store.enqueue(&messages).await.unwrap();
    let running = outbox.relay(&api, "w1");
    clock::sleep(SECOND * 20).await;
    assert_eq!(
        api.attempts("good").len(),
        0,
        "each waits or is behind one that does"
    );
    outbox.execute("DROP TRIGGER refuse");
    outbox.until_sent("good", 240).await;
    for pair in 0..120 {
        let (first, second) = (2 * pair + 1, 2 * pair + 2);
        let seen = api.attempts("good");
        let at = |number: i64| seen.iter().position(|&seen| seen == number);
        assert!(at(first) < at(second), "{first} comes before {second}");
    }
    running.stop().await;
}

/// The verdicts that closed the destination leave with their shard; what was forgotten is in the other one.
#[tokio::test(start_paused = true)]
async fn messages_that_were_forgotten_are_read_again_when_the_refused_verdicts_are_another_relays() {
    let (outbox, api) = (Outbox::new(2).await, Api::default());
    outbox.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON redeliver_dead
         BEGIN SELECT RAISE(ABORT, 'not while we count'); END",
    );
    outbox.enqueue("nobody", 400, None).await;
    outbox.execute("DELETE FROM redeliver_outbox WHERE shard = 0");
    let running = outbox.relay(&api, "w1");
    clock::sleep(SECOND * 10).await;
    outbox.enqueue("nobody", 100, None).await;
    let count = outbox.count("SELECT count(*) FROM redeliver_outbox");
    clock::sleep(SECOND * 10).await;
    let next = outbox.relay(&api, "w2");
    let owners = "SELECT count(DISTINCT owner) FROM redeliver_shards";
    while outbox.count(owners) < 2 {
        clock::sleep(SECOND).await;
    }
    outbox.execute("DROP TRIGGER refuse");
    clock::sleep(LONG).await;
    assert_eq!(outbox.count("SELECT count(*) FROM redeliver_dead"), count);
    running.stop().await;
    next.stop().await;
}

//! The tables against the pure machine: the same random history, the same state after every step.

use std::time::Duration;

use redeliver_outbox::{
    DeadReason, Timestamp,
    desk::{Act, Desk as _, Filter},
    state::{self, Event, Place, State},
    store::{AfterDeath, Lease, PostgresStore, Settlement, Store as _, Until, Verdict},
};
use tokio_postgres::Client;

use crate::database::{Database, attempted, insert, owner, worker};

async fn happen(store: &PostgresStore, lease: Lease, number: i64, event: Event) {
    let act = Act {
        who: "ada".to_owned(),
        why: "to see".to_owned(),
    };
    let verdict = match event {
        Event::Counted { attempt } => Verdict::Counted { attempt },
        Event::Delivered { attempt } => Verdict::Delivered(attempted(attempt, "")),
        Event::Retry { attempt, wait } => Verdict::Retry {
            attempted: attempted(attempt, "x"),
            wait,
        },
        Event::Dead { attempt, reason } => Verdict::Dead {
            attempted: attempt.map(|attempt| attempted(attempt, "x")),
            reason,
            error: "x".to_owned(),
            lane: AfterDeath::None,
        },
        Event::Postponed { until } => Verdict::Postponed(Until::At(until)),
        Event::Redriven => {
            store.redrive(&Filter::default(), 9, &act).await.unwrap();
            return;
        }
        Event::Discarded => {
            store.discard(&Filter::default(), 9, &act).await.unwrap();
            return;
        }
        Event::Edited => return,
    };
    let settlement = Settlement {
        lease,
        number,
        verdict,
    };
    store.settle(&worker("w"), &[settlement]).await.unwrap();
}

/// The state that the tables show. Times are only there or not: the clocks are not the same.
async fn shown(client: &Client) -> (String, i32, i32, bool, Option<String>) {
    let statement =
        "SELECT CASE WHEN status IN ('sent', 'dead_lettered', 'discarded') THEN status ELSE 'live' END,
                            attempts, redrives, next_attempt_at IS NOT NULL, dead_letter_reason
                       FROM redeliver_messages";
    let rows = client.query(statement, &[]).await.unwrap();
    assert_eq!(rows.len(), 1, "the message is in one place");
    let row = &rows[0];
    (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4))
}

fn expected(state: State) -> (String, i32, i32, bool, Option<String>) {
    let place = match state.place {
        Place::Live => "live",
        Place::Sent => "sent",
        Place::Dead => "dead_lettered",
        Place::Discarded => "discarded",
    };
    (
        place.to_owned(),
        state.attempts.cast_signed(),
        state.redrives.cast_signed(),
        state.next_attempt_at.is_some(),
        state.reason.map(|reason| reason.to_string()),
    )
}

/// Small steps of a counter, spread out.
fn draw(seed: &mut u64, of: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % of
}

fn event(seed: &mut u64, state: State) -> Event {
    // Too low, repeated, right, too high.
    let attempt = ((u64::from(state.attempts) + draw(seed, 4)).saturating_sub(1) as u32).max(1);
    let reason = DeadReason::Permanent;
    match draw(seed, 12) {
        0 | 1 => Event::Counted { attempt },
        2 => Event::Delivered { attempt },
        3..=5 => Event::Retry {
            attempt,
            wait: Duration::from_secs(60),
        },
        6 => Event::Dead {
            attempt: Some(attempt),
            reason,
        },
        7 => Event::Dead {
            attempt: None,
            reason,
        },
        8 => Event::Postponed {
            until: Timestamp::from_millis(4_000_000_000_000),
        },
        9 | 10 => Event::Redriven,
        _ => Event::Discarded,
    }
}

#[tokio::test]
async fn the_tables_follow_the_machine() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    let lease = owner(&store, "w").await[0].lease;
    let mut ends = 0;
    for history in 0..40_u64 {
        let mut seed = history * 7919 + 1;
        client
            .batch_execute("TRUNCATE redeliver_outbox, redeliver_dead, redeliver_sent, redeliver_attempts")
            .await
            .unwrap();
        let number = insert(&client, None, "{}").await;
        let mut state = State::INSERTED;
        for _ in 0..14 {
            let event = event(&mut seed, state);
            happen(&store, lease, number, event).await;
            state = state::apply(state, event, Timestamp::from_millis(1)).unwrap_or(state);
            assert_eq!(
                shown(&client).await,
                expected(state),
                "history {history}, after {event:?}"
            );
        }
        ends += u32::from(state.place != Place::Live);
    }
    assert!(ends > 0, "no history came to an end");
}

use std::time::Duration;

use proptest::prelude::*;
use redeliver_outbox::{
    DeadReason, MessageId, Timestamp,
    desk::{Act, Desk, Edit, Filter, MessageRef},
    state::{Event, Place, State, Status, apply},
    store::{AfterDeath, Lease, Until, Verdict, WorkerId},
};

use crate::bench::{Bench, attempted};

fn events() -> impl Strategy<Value = Event> {
    let attempt = 1..4_u32;
    let wait = (0..3_000_u64).prop_map(Duration::from_micros);
    prop_oneof![
        attempt.clone().prop_map(|attempt| Event::Counted { attempt }),
        attempt.clone().prop_map(|attempt| Event::Uncounted { attempt }),
        attempt.clone().prop_map(|attempt| Event::Delivered { attempt }),
        (attempt.clone(), wait).prop_map(|(attempt, wait)| Event::Retry { attempt, wait }),
        proptest::option::of(attempt).prop_map(|attempt| Event::Dead {
            attempt,
            reason: DeadReason::Permanent
        }),
        (0..9_i64).prop_map(|until| Event::Postponed {
            until: Timestamp::from_millis(until)
        }),
        Just(Event::Redriven),
        Just(Event::Discarded),
        Just(Event::Edited),
    ]
}

async fn happen(bench: &Bench, worker: &WorkerId, lease: Lease, number: i64, event: Event) {
    let act = Act {
        who: "w".to_owned(),
        why: "y".to_owned(),
    };
    let message = MessageRef::Number(number);
    let filter = Filter {
        messages: vec![message],
        ..Filter::default()
    };
    let failed = |attempt| attempted(attempt, "transient", "no");
    let verdict = match event {
        Event::Counted { attempt } => Verdict::Counted { attempt },
        Event::Uncounted { attempt } => Verdict::Uncounted { attempt },
        Event::Delivered { attempt } => Verdict::Delivered(attempted(attempt, "", "")),
        Event::Retry { attempt, wait } => Verdict::Retry {
            attempted: failed(attempt),
            wait,
        },
        Event::Dead { attempt, reason } => Verdict::Dead {
            attempted: attempt.map(failed),
            reason,
            error: "no".to_owned(),
            lane: AfterDeath::Gap,
        },
        Event::Postponed { until } => Verdict::Postponed(Until::At(until)),
        // Only of an event, which these messages are not.
        Event::FannedOut => return,
        Event::Redriven => {
            bench.store.redrive(&filter, 1, &act).await.unwrap();
            return;
        }
        Event::Discarded => {
            bench.store.discard(&filter, 1, &act).await.unwrap();
            return;
        }
        Event::Edited => {
            let edit = Edit {
                payload: Some("new".into()),
                ..Edit::default()
            };
            // Refused wherever the machine refuses it.
            let _ = bench.store.edit(message, &edit, &act).await;
            return;
        }
    };
    bench.settle(worker, lease, number, verdict).await;
}

async fn state(bench: &Bench, number: i64) -> State {
    let found = bench
        .store
        .find(MessageRef::Number(number))
        .await
        .unwrap()
        .unwrap();
    let record = found.record;
    State {
        place: match record.status {
            Status::Sent => Place::Sent,
            Status::DeadLettered => Place::Dead,
            Status::Discarded => Place::Discarded,
            _ => Place::Live,
        },
        attempts: record.attempts,
        redrives: record.redrives,
        next_attempt_at: record.next_attempt_at,
        reason: record.dead_letter_reason,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_tables_agree_with_the_state_machine(history in proptest::collection::vec(events(), 0..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let bench = Bench::new().await;
            let (worker, lease) = bench.owner("one").await;
            let number = bench.insert("d", Some("k"));
            let salt = bench.number("SELECT salt FROM redeliver_outbox");
            let mut expected = State::INSERTED;
            for event in history {
                bench.pass(Duration::from_millis(7));
                happen(&bench, &worker, lease, number, event).await;
                if let Ok(next) = apply(expected, event, bench.now()) {
                    expected = next;
                }
                let found = bench.store.find(MessageRef::Number(number)).await.unwrap().unwrap();
                prop_assert_eq!(found.record.id, MessageId::new(number, salt));
                prop_assert_eq!(state(&bench, number).await, expected, "after {:?}", event);
            }
            Ok(())
        })?;
    }
}

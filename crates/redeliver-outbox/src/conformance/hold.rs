//! Destinations that are held, and what workers tell of the others.

use futures_util::future::join_all;

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{Subject, act, beat},
};
use crate::{
    Held, Hold, HoldCause, HoldKind, MessageId, NewHold, Timestamp,
    desk::Act,
    live::{Failures, Live, LiveFigures, LiveState, StuckVerdict},
    store::{StoreError, StoreErrorKind, WorkerId},
};

fn gone(destination: &str) -> NewHold {
    NewHold {
        destination: destination.to_owned(),
        cause: HoldCause::Gone,
        detail: "410 Gone: 'moved' out".to_owned(),
    }
}

fn worker() -> WorkerId {
    WorkerId("w".to_owned())
}

/// What is to be found of a hold, but for when it began.
fn told(hold: &Hold) -> (&str, HoldKind, HoldCause, &str, &str) {
    (&hold.destination, hold.kind, hold.cause, &hold.detail, &hold.who)
}

pub(super) async fn s180_a_hold_is_told_with_every_beat(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    none!(subject.beat(&worker()).await?.holds, "holds in a new outbox");
    // Names that look alike, of which one has a blank at its end.
    for name in ["billing", "Billing", "billing ", "fakturaübersicht"] {
        let held = subject.desk.pause(name, &act()).await?;
        check!(held.new, "{name:?} was not held before");
    }
    let membership = subject.beat(&worker()).await?;
    same!(
        membership.holds,
        subject.desk.holds().await?,
        "what the desk says"
    );
    same!(
        membership.holds,
        subject.desk.status().await?.holds,
        "what the figures say"
    );
    let names: Vec<&str> = membership
        .holds
        .iter()
        .map(|hold| hold.destination.as_str())
        .collect();
    same!(names.len(), 4, "holds, of {names:?}");
    for hold in &membership.holds {
        let name = hold.destination.as_str();
        same!(
            told(hold),
            (name, HoldKind::Paused, HoldCause::Hand, "the suite", "ana"),
            "a hold by hand"
        );
        let age = membership
            .now
            .since(hold.since)
            .max(hold.since.since(membership.now));
        check!(age.as_secs() < 60, "it began now, and not {age:?} ago");
    }
    let ended = subject.desk.resume("billing", None, &act()).await?;
    same!(
        ended.map(|hold| hold.destination),
        Some("billing".to_owned()),
        "the hold that ended"
    );
    let holds = subject.beat(&worker()).await?.holds;
    same!(holds.len(), 3, "holds after one has ended");
    check!(
        holds.iter().all(|hold| hold.destination != "billing"),
        "the one that ended is none of {holds:?}"
    );
    Ok(())
}

pub(super) async fn s181_doing_it_twice_says_so_and_changes_nothing(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    none!(
        subject.desk.resume("billing", None, &act()).await?.as_slice(),
        "holds of one that is not held"
    );
    let first = subject.desk.pause("billing", &act()).await?;
    let other = Act {
        who: "ben".to_owned(),
        why: "I too".to_owned(),
    };
    let second = subject.desk.pause("billing", &other).await?;
    let expected = Held { new: false, ..first };
    same!(second, expected, "the second pause");
    check!(
        subject.desk.resume("billing", None, &act()).await?.is_some(),
        "the first resume ends it"
    );
    none!(
        subject.desk.resume("billing", None, &act()).await?.as_slice(),
        "holds that the second resume ends"
    );
    let acts: Vec<String> = subject
        .desk
        .audit(10)
        .await?
        .into_iter()
        .map(|act| act.action)
        .collect();
    same!(acts, ["resume", "pause"], "the acts on record, the newest first");
    Ok(())
}

pub(super) async fn s299_a_hold_that_nobody_saw_is_not_ended(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let held = subject.desk.pause("billing", &act()).await?.hold;
    let earlier = Timestamp::from_millis(held.since.as_millis() - 1);
    let late = subject.desk.resume("billing", Some(earlier), &act()).await;
    let refused = late.map_err(|error| error.kind());
    same!(refused, Err(StoreErrorKind::Conflict), "the end of another hold");
    same!(subject.desk.holds().await?, vec![held.clone()], "holds");
    same!(subject.desk.audit(10).await?.len(), 1, "acts on record");
    let ended = subject.desk.resume("billing", Some(held.since), &act()).await?;
    same!(ended, Some(held), "the hold that was seen");
    Ok(())
}

pub(super) async fn s182_a_relay_holds_unless_somebody_has(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let first = subject.store.hold(&worker(), &gone("billing")).await?;
    check!(first.new, "it was not held before");
    same!(
        told(&first.hold),
        (
            "billing",
            HoldKind::Disabled,
            HoldCause::Gone,
            "410 Gone: 'moved' out",
            "w"
        ),
        "the hold of a relay"
    );
    // The answer to the first may have been lost: the same again is the same.
    let again = subject.store.hold(&worker(), &gone("billing")).await?;
    let expected = Held { new: false, ..first };
    same!(again, expected, "the same again");
    subject.desk.pause("mail", &act()).await?;
    let held = subject.store.hold(&worker(), &gone("mail")).await?;
    same!(
        (held.new, held.hold.who.as_str()),
        (false, "ana"),
        "whose hold it is"
    );
    check!(
        subject.desk.resume("billing", None, &act()).await?.is_some(),
        "an operator enables it"
    );
    let audit = subject.desk.audit(10).await?;
    let acts: Vec<(&str, &str)> = audit
        .iter()
        .map(|act| (act.who.as_str(), act.action.as_str()))
        .collect();
    same!(
        acts,
        [("ana", "resume"), ("ana", "pause"), ("w", "disable")],
        "the acts on record"
    );
    for act in &audit {
        check!(act.message.is_none(), "an act on a destination is on no message");
        let named = act.detail.contains("\"billing\"") || act.detail.contains("\"mail\"");
        check!(named, "the record names the destination: {}", act.detail);
    }
    Ok(())
}

pub(super) async fn s183_holds_at_the_same_time_are_one(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let (hold, worker) = (gone("billing"), worker());
    let held = join_all((0..6).map(|_| subject.store.hold(&worker, &hold))).await;
    let mut new = 0;
    for held in held {
        new += u32::from(held?.new);
    }
    same!(new, 1, "holds that began, of six at once");
    let mut ended = 0;
    let act = act();
    for hold in join_all((0..6).map(|_| subject.desk.resume("billing", None, &act))).await {
        ended += u32::from(hold?.is_some());
    }
    same!(ended, 1, "ends, of six at once");
    same!(subject.desk.audit(20).await?.len(), 2, "acts on record");
    Ok(())
}

pub(super) async fn s184_no_name_is_no_destination(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    for name in [String::new(), "a\nb".to_owned(), "x".repeat(201)] {
        for result in [
            subject.desk.pause(&name, &act()).await.map(|_| ()),
            subject.desk.resume(&name, None, &act()).await.map(|_| ()),
        ] {
            let kind = result.as_ref().err().map(StoreError::kind);
            same!(
                kind,
                Some(StoreErrorKind::BadInput),
                "the kind of error for {name:?}"
            );
        }
    }
    let longest = "x".repeat(200);
    subject.desk.pause(&longest, &act()).await?;
    same!(subject.desk.holds().await?.len(), 1, "holds");
    Ok(())
}

pub(super) async fn s185_what_a_worker_tells_of_its_destinations_is_read(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let figures = LiveFigures {
        state: LiveState::Open,
        in_flight: 2,
        limit: 4,
        ceiling: 32,
        rate: Some(12.5),
        delivered_per_second: 0.25,
        failed_per_second: 8.0,
        failures: Failures {
            timeout: 2,
            server_error: 7,
            ..Failures::default()
        },
        latency_p50_ms: Some(1.5),
        latency_p99_ms: Some(250.0),
        held: 7,
        stuck: 3,
        stuck_verdicts: vec![StuckVerdict {
            id: MessageId::new(42, 7),
            since: Timestamp::from_millis(1_763_238_744_000),
            reason: "a trigger refused \"it\"".to_owned(),
        }],
        until: Some(Timestamp::from_millis(1_763_238_744_123)),
        since: Some(Timestamp::from_millis(1_763_238_700_123)),
        detail: "503 \"Service\" Unavailable 🦀".to_owned(),
    };
    let live = Live::from([("billing".to_owned(), figures)]);
    let mut first = beat(&worker());
    first.destinations = live.clone();
    subject.store.beat(&first).await?;
    subject.beat(&WorkerId("x".to_owned())).await?;
    let workers = subject.desk.workers().await?;
    let told: Vec<_> = workers.iter().filter(|worker| worker.id == "w").collect();
    same!(told.len(), 1, "workers of this name");
    same!(told[0].destinations, live, "what it told");
    let status = subject.desk.status().await?;
    same!(status.workers, workers, "the workers of the figures");
    same!(status.live(), live, "the sum of two, of whom one told something");
    // A worker that is silent says nothing of now.
    subject.expire(&worker()).await?;
    same!(
        subject.desk.status().await?.live(),
        Live::new(),
        "the sum without the silent one"
    );
    Ok(())
}

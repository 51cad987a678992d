//! What the database refuses holds up nothing else: the relay at work on the store, with rows and constraints that refuse.

use std::{sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use redeliver::clock;

use super::{
    Factory, Failure,
    failure::{Outcome, check, same},
    subject::{HOUR, Subject, Worker, bury, delivered, retry},
};
use crate::{
    DeadReason, NewMessage,
    destination::{Delivery, Destination, LanePolicy, Outcome as Answer, Route, Routes},
    relay::{Relay, RelayConfig},
    state::Status,
    store::{Verdict, WorkerId},
};

/// How long a relay may take for what is no work at all.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// Rejects what is for `bad` and takes all else.
#[derive(Debug)]
struct Answers;

impl Destination for Answers {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Answer> {
        let answer = match delivery.message.destination.as_str() {
            "bad" => Answer::Reject {
                kind: DeadReason::Permanent,
                reason: "422".to_owned(),
            },
            _ => Answer::Delivered,
        };
        Box::pin(std::future::ready(answer))
    }

    fn kind(&self) -> &'static str {
        "answers"
    }
}

/// A relay that runs while `work` does.
async fn relayed(subject: &Subject, name: &str, work: impl Future<Output = Outcome>) -> Outcome {
    let parking = || Route {
        lane: LanePolicy::Park,
        ..Route::to(Answers)
    };
    let routes = Routes::new().with("bad", parking()).with("good", parking());
    let relay = Relay::new(Arc::clone(&subject.store), routes, RelayConfig::named(name));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async move {
        let _ = stopped.await;
    };
    let working = async {
        let done = work.await;
        let _ = stop.send(());
        done
    };
    let (finished, done) = futures_util::future::join(relay.run(stopped), working).await;
    done?;
    check!(finished.clean, "{name} stopped in good order");
    Ok(())
}

/// Waits until so many rows are in a table.
async fn until(subject: &Subject, what: &str, count: usize) -> Outcome {
    let began = clock::wall();
    loop {
        let rows = subject
            .harness
            .rows(&format!("SELECT count(*) FROM {what}"))
            .await?;
        let found = rows.first().and_then(|row| row.first().cloned().flatten());
        if found.as_deref() == Some(&count.to_string()) {
            return Ok(());
        }
        let waited = clock::wall().saturating_sub(began);
        if waited > PATIENCE {
            return Err(Failure::new(format!(
                "{what}: {found:?} rows after {waited:?}, and not {count}"
            )));
        }
        clock::sleep(LOOK).await;
    }
}

pub(super) async fn s460_a_refused_verdict_is_told_from_trouble_with_the_database(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let worker = subject.worker("w").await?;
    one_letter_per_destination(&subject).await?;
    let ids = subject.enqueue_some(3).await?;
    let mut settlements = Vec::new();
    for id in &ids {
        let record = subject.record(*id).await?;
        settlements.push(worker.settlement(&record, bury())?);
    }
    let refused = subject.store.settle(&worker.id, &settlements).await;
    let Err(error) = refused else {
        return Err(Failure::new(
            "three dead letters were written where one is allowed",
        ));
    };
    check!(error.kind().is_about_content(), "{error} ({:?})", error.kind());
    same!(
        subject.record(ids[0]).await?.status,
        Status::Processing,
        "all or nothing"
    );
    subject.store.settle(&worker.id, &settlements[..1]).await?;
    same!(
        subject.record(ids[0]).await?.status,
        Status::DeadLettered,
        "by itself"
    );
    Ok(())
}

/// A constraint of an operator's, as every database has it.
async fn one_letter_per_destination(subject: &Subject) -> Outcome {
    subject
        .execute("CREATE UNIQUE INDEX local_redeliver_one ON redeliver_dead (destination)")
        .await
}

pub(super) async fn s461_a_refused_verdict_stops_no_other_and_no_restart(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    one_letter_per_destination(&subject).await?;
    let bad = NewMessage::to("bad").payload("{}");
    let good = NewMessage::to("good").payload("{}");
    subject.enqueue(&vec![bad; 3]).await?;
    subject.enqueue(&vec![good.clone(); 40]).await?;
    relayed(&subject, "w1", async {
        until(&subject, "redeliver_sent", 40).await?;
        until(&subject, "redeliver_dead", 1).await?;
        // What is refused is told with the next beat.
        let began = clock::wall();
        loop {
            let live = subject.desk.status().await?.live();
            let told = live.get("bad").filter(|figures| figures.stuck == 2);
            if let Some(told) = told {
                check!(
                    told.stuck_verdicts.iter().all(|stuck| !stuck.reason.is_empty()),
                    "{:?}",
                    told.stuck_verdicts
                );
                return Ok(());
            }
            check!(
                clock::wall().saturating_sub(began) < PATIENCE,
                "{:?}",
                live.get("bad")
            );
            clock::sleep(LOOK).await;
        }
    })
    .await?;
    subject.enqueue(&vec![good; 40]).await?;
    relayed(&subject, "w2", async {
        until(&subject, "redeliver_sent", 80).await?;
        // The cause goes away, twice.
        subject.execute("DELETE FROM redeliver_dead").await?;
        until(&subject, "redeliver_dead", 1).await?;
        subject.execute("DELETE FROM redeliver_dead").await?;
        until(&subject, "redeliver_dead", 1).await?;
        until(&subject, "redeliver_outbox", 0).await
    })
    .await
}

pub(super) async fn s462_rows_beyond_every_limit_reach_an_end_and_stop_nobody(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    // No database makes much less of it.
    let digits = (0..1200_u32).map(|index| format!("{:08x}", index.wrapping_mul(2_654_435_761)));
    let long: String = digits.collect();
    let (mut taken, mut refused) = (0_usize, 0);
    for (column, value) in [
        ("lane", long.as_str()),
        ("topic", &long),
        ("content_type", &long),
        ("traceparent", &long),
        ("headers", &long),
        ("headers", "[1]"),
        ("content_type", "a\r\nb: c"),
    ] {
        for destination in ["bad", "good", "nobody"] {
            let insert = format!(
                "INSERT INTO redeliver_outbox (destination, payload, {column}) VALUES ('{destination}', '{{}}', '{value}')"
            );
            match subject.execute(&insert).await {
                Ok(()) => taken += 1,
                Err(_) => refused += 1,
            }
        }
    }
    for row in [
        format!("INSERT INTO redeliver_outbox (destination, payload) VALUES ('{long}', '{{}}')"),
        format!(
            "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('{long}', '{long}', '{{}}')"
        ),
        format!(
            "INSERT INTO redeliver_outbox (destination, topic, lane, payload) VALUES ('', '{long}', '{long}', '{{}}')"
        ),
    ] {
        match subject.execute(&row).await {
            Ok(()) => taken += 1,
            Err(_) => refused += 1,
        }
    }
    same!(taken + refused, 24, "rows");
    subject
        .enqueue(&vec![NewMessage::to("good").payload("{}"); 40])
        .await?;
    relayed(&subject, "w", async {
        until(&subject, "redeliver_outbox", 0).await?;
        let status = subject.desk.status().await?;
        same!(
            status.live().values().map(|figures| figures.stuck).sum::<u64>(),
            0,
            "refused verdicts"
        );
        Ok(())
    })
    .await?;
    let status = subject.desk.status().await?;
    let ended = usize::try_from(status.total.sent + status.total.dead).unwrap_or(usize::MAX);
    same!(ended, taken + 40, "rows with an end");
    let parked = subject
        .harness
        .rows("SELECT count(*) FROM redeliver_lanes WHERE length(lane) > 1000")
        .await?;
    same!(
        parked,
        vec![vec![Some("0".to_owned())]],
        "lanes parked under a key that is too long"
    );
    Ok(())
}

pub(super) async fn s463_an_attempt_that_was_counted_and_not_answered_is_known_until_it_is(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 1).await?;
    let id = subject
        .enqueue_one(NewMessage::to("billing").payload("{}"))
        .await?;
    let interrupted = async |name: &str| {
        let mut worker = subject.worker(name).await?;
        let read = worker.read_fresh().await?;
        let read = read.first().ok_or_else(|| Failure::new("it was not read"))?;
        Ok::<_, Failure>((worker, read.interrupted, read.attempts))
    };
    let settle = async |worker: &Worker, verdict| subject.settle_one(worker, id, verdict).await;
    let give_back = async |worker: Worker| {
        subject.store.release(&worker.id, &worker.leases(), true).await?;
        Ok::<_, Failure>(subject.store.leave(&worker.id).await?)
    };
    let (worker, before, _) = interrupted("w1").await?;
    check!(!before, "nothing was attempted yet");
    settle(&worker, Verdict::Counted { attempt: 1 }).await?;
    give_back(worker).await?;
    let (worker, counted, attempts) = interrupted("w2").await?;
    check!(
        counted && attempts == 1,
        "it was counted, and nobody wrote how it ended"
    );
    settle(&worker, Verdict::Uncounted { attempt: 1 }).await?;
    settle(&worker, Verdict::Uncounted { attempt: 1 }).await?;
    same!(subject.detail(id).await?.attempts.len(), 0, "lines of the log");
    give_back(worker).await?;
    let (worker, counted, attempts) = interrupted("w3").await?;
    check!(!counted && attempts == 0, "the count was taken back");
    settle(&worker, Verdict::Counted { attempt: 1 }).await?;
    settle(&worker, retry(1, Duration::ZERO)).await?;
    let record = subject.record(id).await?;
    same!(record.attempts, 1, "attempts");
    settle(&worker, Verdict::Counted { attempt: 2 }).await?;
    settle(&worker, retry(2, HOUR)).await?;
    settle(&worker, delivered(3)).await?;
    same!(subject.record(id).await?.status, Status::Sent, "its end");
    Ok(())
}

/// Takes everything and says nothing, or the other way round: says that a send began.
#[derive(Debug)]
struct Counting {
    answers: bool,
    begun: Arc<tokio::sync::Semaphore>,
}

impl Destination for Counting {
    fn deliver<'a>(&'a self, _: Delivery<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            self.begun.add_permits(1);
            if !self.answers {
                std::future::pending::<()>().await;
            }
            Answer::Delivered
        })
    }

    fn kind(&self) -> &'static str {
        "counting"
    }
}

pub(super) async fn s464_what_must_not_arrive_twice_is_not_sent_again_after_a_kill(
    factory: &dyn Factory,
) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    subject
        .enqueue(&vec![NewMessage::to("once").payload("{}"); 5])
        .await?;
    let relay = |answers, begun: &Arc<tokio::sync::Semaphore>, name: &str| {
        let begun = Arc::clone(begun);
        let route = Route {
            idempotent: false,
            concurrency: 1,
            ..Route::to(Counting { answers, begun })
        };
        let routes = Routes::new().with("once", route);
        Relay::new(Arc::clone(&subject.store), routes, RelayConfig::named(name))
    };
    let begun = Arc::new(tokio::sync::Semaphore::new(0));
    // Killed while it sends.
    let killed = relay(false, &begun, "w1").run(std::future::pending());
    tokio::select! {
        _ = killed => return Err(Failure::new("a relay that nobody stopped ended")),
        sending = begun.acquire() => check!(sending.is_ok(), "the first send began"),
    }
    subject.expire(&WorkerId("w1".to_owned())).await?;
    let again = Arc::new(tokio::sync::Semaphore::new(0));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let next = relay(true, &again, "w2").run(async move {
        let _ = stopped.await;
    });
    let watched = async {
        let done = until(&subject, "redeliver_outbox", 0).await;
        let _ = stop.send(());
        done
    };
    let (_, done) = futures_util::future::join(next, watched).await;
    done?;
    same!(again.available_permits(), 4, "sends of the next relay");
    until(&subject, "redeliver_sent", 4).await?;
    until(
        &subject,
        "redeliver_dead WHERE reason = 'unknown_outcome' AND attempts = 1",
        1,
    )
    .await
}

pub(super) async fn s465_a_key_that_is_no_text_is_dead_lettered(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let insert = "INSERT INTO redeliver_outbox (destination, payload, lane) VALUES ('good', '{}', CONVERT(x'd800' USING ucs2))";
    // MySQL and MariaDB take surrogates for characters; the others do not have the statement.
    if subject.execute(insert).await.is_err() {
        return Ok(());
    }
    relayed(&subject, "w1", until(&subject, "redeliver_outbox", 0)).await?;
    let rows = subject
        .harness
        .rows("SELECT reason, last_error FROM redeliver_dead")
        .await?;
    let text = |text: &str| Some(text.to_owned());
    same!(
        rows,
        [[text("invalid_key"), text("the key is not valid Unicode")]],
        "dead letters"
    );
    Ok(())
}

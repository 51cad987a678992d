//! What an operator does with dead letters, and what is remembered of it.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    subject::{HOUR, Subject, Worker, act, dead, delivered, only, retry},
};
use crate::{
    DeadReason, MessageId, NewMessage, Payload,
    desk::{Act, DeadLetter, Edit, Filter, MessageRef},
    state::Status,
    store::AfterDeath,
};

pub(super) fn message() -> NewMessage {
    NewMessage::to("billing").payload(r#"{"broken":true}"#)
}

pub(super) async fn dead_letters(
    factory: &dyn Factory,
    count: usize,
) -> Outcome<(Subject, Worker, Vec<MessageId>)> {
    let subject = Subject::fresh(factory, 4).await?;
    let worker = subject.worker("w").await?;
    let mut letters = Vec::new();
    for _ in 0..count {
        letters.push(subject.dead_letter(&worker, message()).await?);
    }
    Ok((subject, worker, letters))
}

pub(super) async fn s090_a_redriven_message_is_the_same_message(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 1).await?;
    let id = letters[0];
    let before = subject.now().await?;
    same!(subject.redrive(&only(id)).await?, [id], "redriven");
    let after = subject.now().await?;
    let record = subject.record(id).await?;
    same!(record.id, id, "the id");
    same!(
        (record.attempts, record.redrives),
        (0, 1),
        "attempts and redrives"
    );
    same!(record.dead_letter_reason, None, "the reason");
    same!(record.dead_lettered_at, None, "the time of its quarantine");
    let due = record.next_attempt_at;
    check!(
        due.is_some_and(|due| (before..=after).contains(&due)),
        "it is due at {due:?}, from {before} to {after}"
    );
    same!(record.status, Status::Processing, "the status");
    subject.settle_one(&worker, id, delivered(1)).await?;
    let record = subject.record(id).await?;
    same!(
        (record.status, record.attempts, record.redrives),
        (Status::Sent, 1, 1),
        "in the end"
    );
    same!(subject.desk.count(&Filter::default()).await?, 1, "messages");
    Ok(())
}

pub(super) async fn s091_each_life_has_its_own_attempts_in_the_log(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 1).await?;
    let id = letters[0];
    for life in 1..=2 {
        subject.redrive(&only(id)).await?;
        subject.settle_one(&worker, id, retry(1, HOUR)).await?;
        subject
            .settle_one(
                &worker,
                id,
                dead(Some(2), DeadReason::Permanent, AfterDeath::None),
            )
            .await?;
        same!(subject.record(id).await?.redrives, life, "redrives");
    }
    let detail = subject.detail(id).await?;
    let log: Vec<_> = detail
        .attempts
        .iter()
        .map(|record| (record.redrive, record.attempt))
        .collect();
    same!(
        log,
        [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2)],
        "the log, the oldest first"
    );
    Ok(())
}

pub(super) async fn s092_the_oldest_are_redriven_first_and_no_more_than_asked(
    factory: &dyn Factory,
) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 7).await?;
    for part in [&letters[..3], &letters[3..6], &letters[6..], &[]] {
        let redriven = subject.desk.redrive(&Filter::default(), 3, &act()).await?;
        same!(redriven, part, "redriven, three at most");
    }
    Ok(())
}

pub(super) async fn s093_only_dead_letters_are_redriven_or_discarded(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let ids = subject.enqueue_some(3).await?;
    subject
        .settle(&worker, &[(ids[0], delivered(1)), (ids[1], retry(1, HOUR))])
        .await?;
    let discarded = subject.dead_letter(&worker, message()).await?;
    subject.discard(&only(discarded)).await?;
    let mut before = Vec::new();
    for id in ids.iter().chain([&discarded]) {
        before.push(subject.detail(*id).await?);
    }
    none!(subject.redrive(&Filter::default()).await?, "redriven");
    none!(subject.discard(&Filter::default()).await?, "discarded");
    for (id, before) in ids.iter().chain([&discarded]).zip(before) {
        same!(subject.detail(*id).await?, before, "the message after that");
    }
    Ok(())
}

pub(super) async fn s094_a_filter_narrows_a_redrive(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 2).await?;
    let other = subject
        .dead_letter(&worker, NewMessage::to("mail").payload("{}"))
        .await?;
    let mail = Filter {
        destination: Some("mail".to_owned()),
        ..Filter::default()
    };
    same!(subject.redrive(&mail).await?, [other], "redriven");
    for id in letters {
        same!(
            subject.status(id).await?,
            Status::DeadLettered,
            "the status of the others"
        );
    }
    Ok(())
}

pub(super) async fn s095_every_act_is_on_record(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 2).await?;
    let before = subject.now().await?;
    let edit = Edit {
        payload: Some(Payload::from("{}")),
        ..Edit::default()
    };
    let by = |who: &str, why: &str| Act {
        who: who.to_owned(),
        why: why.to_owned(),
    };
    subject
        .desk
        .edit(
            MessageRef::Id(letters[0]),
            &edit,
            &by("ana", "a comma was missing"),
        )
        .await?;
    subject
        .desk
        .redrive(&only(letters[0]), 1, &by("bo", "mended"))
        .await?;
    subject
        .desk
        .discard(&only(letters[1]), 1, &by("cy's \"twin\"", "tést 🦀"))
        .await?;
    let audit = subject.desk.audit(10).await?;
    let met: Vec<_> = audit
        .iter()
        .map(|record| {
            (
                record.who.as_str(),
                record.action.as_str(),
                record.why.as_str(),
                record.message,
            )
        })
        .collect();
    let expected = [
        ("cy's \"twin\"", "discard", "tést 🦀", Some(letters[1])),
        ("bo", "redrive", "mended", Some(letters[0])),
        ("ana", "edit", "a comma was missing", Some(letters[0])),
    ];
    same!(met, expected, "the acts, the newest first");
    check!(
        audit.iter().all(|record| record.at >= before),
        "their times are known: {audit:?}"
    );
    same!(subject.desk.audit(1).await?.len(), 1, "acts, one at most");
    let of_one: Vec<_> = subject.detail(letters[0]).await?.audit;
    let met: Vec<_> = of_one.iter().map(|record| record.action.as_str()).collect();
    same!(
        met,
        ["edit", "redrive"],
        "the acts on one message, the oldest first"
    );
    Ok(())
}

pub(super) async fn s096_a_discarded_letter_stays_to_be_seen(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 2).await?;
    same!(
        subject.discard(&only(letters[0])).await?,
        [letters[0]],
        "discarded"
    );
    let record = subject.record(letters[0]).await?;
    same!(record.status, Status::Discarded, "the status");
    same!(
        record.dead_letter_reason,
        Some(DeadReason::Permanent),
        "the reason"
    );
    none!(
        subject.discard(&only(letters[0])).await?,
        "discarded a second time"
    );
    none!(subject.redrive(&only(letters[0])).await?, "redriven after that");
    same!(
        subject.desk.discard(&Filter::default(), 1, &act()).await?,
        [letters[1]],
        "discarded, one at most"
    );
    Ok(())
}

pub(super) async fn s100_imported_letters_are_new_dead_letters(factory: &dyn Factory) -> Outcome {
    let (subject, mut worker, letters) = dead_letters(factory, 1).await?;
    let letter = DeadLetter {
        message: NewMessage::to("mail")
            .key("k")
            .payload("from elsewhere")
            .header("x", "y"),
        reason: DeadReason::SchemaViolation,
        error: "a field is missing".to_owned(),
        attempts: 4,
    };
    let imported = subject.desk.import(&[letter.clone(), letter], &act()).await?;
    same!(imported.len(), 2, "ids");
    for id in &imported {
        check!(*id > letters[0], "{id} is a new id");
        let record = subject.record(*id).await?;
        same!(record.status, Status::DeadLettered, "the status");
        same!(
            record.dead_letter_reason,
            Some(DeadReason::SchemaViolation),
            "the reason"
        );
        same!(
            record.last_error.as_deref(),
            Some("a field is missing"),
            "the error"
        );
        same!(
            (record.attempts, record.redrives),
            (4, 0),
            "attempts and redrives"
        );
        same!(
            record.payload,
            Some(Payload::from("from elsewhere")),
            "the payload"
        );
    }
    check!(
        subject
            .desk
            .audit(10)
            .await?
            .iter()
            .any(|record| record.action == "import"),
        "the import is on record"
    );
    same!(
        worker.read_fresh().await?.len(),
        0,
        "imported letters read as live messages"
    );
    same!(
        subject.redrive(&only(imported[0])).await?,
        [imported[0]],
        "redriven"
    );
    let later = subject.enqueue_one(message()).await?;
    check!(
        later > imported[1],
        "no number is given twice: {later} after {}",
        imported[1]
    );
    Ok(())
}

pub(super) async fn s101_unknown_messages_are_nobody(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 1).await?;
    let id = letters[0];
    for reference in [
        MessageRef::Number(id.number() + 1),
        MessageRef::Id(MessageId::new(id.number() + 1, id.salt())),
        MessageRef::Id(MessageId::new(id.number(), id.salt() ^ 1)),
    ] {
        check!(
            subject.desk.find(reference).await?.is_none(),
            "{reference:?} is found"
        );
        let filter = Filter {
            messages: vec![reference],
            ..Filter::default()
        };
        none!(subject.redrive(&filter).await?, "redriven by {reference:?}");
        none!(subject.discard(&filter).await?, "discarded by {reference:?}");
    }
    same!(subject.status(id).await?, Status::DeadLettered, "the status");
    Ok(())
}

pub(super) async fn s102_redrives_at_the_same_time_take_each_letter_once(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 12).await?;
    let (filter, act) = (Filter::default(), act());
    let redrives = (0..4).map(|_| subject.desk.redrive(&filter, 12, &act));
    let mut taken = Vec::new();
    for redriven in futures_util::future::join_all(redrives).await {
        taken.extend(redriven?);
    }
    taken.sort();
    same!(taken, letters, "redriven by four at once");
    same!(subject.desk.audit(100).await?.len(), 12, "acts on record");
    Ok(())
}

/// A letter that is edited just now is waited for, and then it is elsewhere.
async fn moved_meanwhile<T>(
    subject: &Subject,
    moved: MessageId,
    act: impl Future<Output = crate::store::Result<T>>,
) -> Outcome<T> {
    let mut edit = subject.harness.begin().await?;
    let statement = format!(
        "UPDATE redeliver_dead SET destination = 'archive' WHERE number = {}",
        moved.number()
    );
    edit.execute(&statement).await?;
    let edited = async {
        // As many questions as it takes for the act to come to the lock. If it does not come so far, it sees the edit at once.
        for _ in 0..100 {
            subject.harness.rows("SELECT 1").await?;
        }
        edit.commit().await
    };
    let (done, edited) = futures_util::future::join(act, edited).await;
    edited?;
    Ok(done?)
}

pub(super) async fn s105_what_was_moved_elsewhere_meanwhile_is_left_alone(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 9).await?;
    let billing = |letters: &[MessageId]| Filter {
        messages: letters.iter().copied().map(MessageRef::Id).collect(),
        destination: Some("billing".to_owned()),
        ..Filter::default()
    };
    let (act, filter) = (act(), billing(&letters[..3]));
    let redrive = subject.desk.redrive(&filter, 3, &act);
    let redriven = moved_meanwhile(&subject, letters[1], redrive).await?;
    same!(redriven, [letters[0], letters[2]], "redriven");
    let filter = billing(&letters[3..6]);
    let discard = subject.desk.discard(&filter, 3, &act);
    let discarded = moved_meanwhile(&subject, letters[4], discard).await?;
    same!(discarded, [letters[3], letters[5]], "discarded");
    let mut job = super::job::new(3);
    job.filter = billing(&letters[6..]);
    subject.desk.create_job(&job, &act).await?;
    let runner = super::job::runner("one");
    let step = subject.desk.step_job(&runner, None);
    let step = moved_meanwhile(&subject, letters[7], step).await?;
    let released = step.map(|step| step.job.tally.released);
    same!(released, Some(2), "let out by the job");
    for letter in [letters[1], letters[4], letters[7]] {
        let record = subject.record(letter).await?;
        same!(
            (record.status, record.destination.as_str(), record.redrives),
            (Status::DeadLettered, "archive", 0),
            "what was moved"
        );
    }
    Ok(())
}

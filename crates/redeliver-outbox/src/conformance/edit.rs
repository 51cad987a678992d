//! A dead letter is mended, and what it was is kept.

use super::{
    Factory, Failure,
    failure::{Outcome, check, same},
    redrive::{dead_letters, message},
    subject::{HOUR, Subject, act, delivered, only},
};
use crate::{
    MessageId, Payload,
    desk::{Edit, MessageRef, Retention, Seen},
    job::JobKind,
    state::Status,
    store::StoreErrorKind,
};

pub(super) async fn s097_the_original_outlives_every_edit(factory: &dyn Factory) -> Outcome {
    let (subject, mut worker, letters) = dead_letters(factory, 1).await?;
    let id = letters[0];
    same!(
        subject.detail(id).await?.original_payload,
        None,
        "an original of what was not changed"
    );
    for payload in ["first", "second"] {
        let edit = Edit {
            payload: Some(Payload::from(payload)),
            ..Edit::default()
        };
        subject.desk.edit(MessageRef::Id(id), &edit, &act()).await?;
        let detail = subject.detail(id).await?;
        same!(detail.record.payload, Some(Payload::from(payload)), "the payload");
        same!(
            detail.original_payload,
            Some(Payload::from(r#"{"broken":true}"#)),
            "the original"
        );
        same!(detail.record.status, Status::DeadLettered, "the status");
    }
    subject.redrive(&only(id)).await?;
    let due = worker.read().await?.due;
    let payloads: Vec<_> = due.iter().map(|message| message.payload.as_text()).collect();
    same!(payloads, [Some("second")], "what is sent then");
    Ok(())
}

pub(super) async fn s098_an_edit_changes_what_it_names(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 1).await?;
    let id = letters[0];
    let edit = Edit {
        destination: Some("mail".to_owned()),
        headers: Some(r#"{"x":"y"}"#.to_owned()),
        content_type: Some("text/plain".to_owned()),
        ..Edit::default()
    };
    subject
        .desk
        .edit(MessageRef::Number(id.number()), &edit, &act())
        .await?;
    let detail = subject.detail(id).await?;
    let record = &detail.record;
    same!(record.destination, "mail", "the destination");
    same!(record.headers.as_deref(), Some(r#"{"x":"y"}"#), "the headers");
    same!(
        record.content_type.as_deref(),
        Some("text/plain"),
        "the content type"
    );
    same!(
        record.payload,
        Some(Payload::from(r#"{"broken":true}"#)),
        "the payload"
    );
    Ok(())
}

pub(super) async fn s099_what_is_no_dead_letter_is_not_edited(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let ids = subject.enqueue_some(2).await?;
    subject.settle_one(&worker, ids[0], delivered(1)).await?;
    let gone = subject.dead_letter(&worker, message()).await?;
    subject.discard(&only(gone)).await?;
    let edit = Edit {
        payload: Some(Payload::from("changed")),
        ..Edit::default()
    };
    let unknown = MessageId::new(ids[1].number() + 1000, 7);
    let another_salt = MessageId::new(gone.number(), !gone.salt());
    for id in [ids[0], ids[1], gone, unknown, another_salt] {
        let result = subject.desk.edit(MessageRef::Id(id), &edit, &act()).await;
        let error = result
            .err()
            .ok_or_else(|| Failure::new(format!("{id} was edited")))?;
        same!(
            error.kind(),
            StoreErrorKind::NotFound,
            "the kind of error of '{error}'"
        );
    }
    same!(
        subject.desk.audit(100).await?.len(),
        1,
        "acts on record: the discard"
    );
    Ok(())
}

pub(super) async fn s270_an_edit_of_what_was_changed_meanwhile_is_refused(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 1).await?;
    let id = letters[0];
    let seen = subject.detail(id).await?.seen();
    let edit = |payload: &str| Edit {
        payload: Some(Payload::from(payload)),
        seen: Some(seen),
        ..Edit::default()
    };
    subject
        .desk
        .edit(MessageRef::Id(id), &edit("mine"), &act())
        .await?;
    let late = subject
        .desk
        .edit(MessageRef::Id(id), &edit("yours"), &act())
        .await;
    let refused = late.map_err(|error| error.kind());
    same!(
        refused,
        Err(StoreErrorKind::NotFound),
        "an edit of what it was before"
    );
    let detail = subject.detail(id).await?;
    same!(detail.record.payload, Some(Payload::from("mine")), "the payload");
    same!(detail.audit.len(), 1, "the acts");
    let again = Edit {
        seen: Some(detail.seen()),
        ..edit("yours")
    };
    subject.desk.edit(MessageRef::Id(id), &again, &act()).await?;
    for way in [JobKind::Redrive, JobKind::Discard] {
        let late = subject.desk.rescue(way, id, detail.seen(), &act()).await;
        let told = late.err().map(|error| error.to_string()).unwrap_or_default();
        check!(told.contains("ana did \"edit\""), "what happened since: {told}");
    }
    let detail = subject.detail(id).await?;
    same!(
        detail.record.status,
        Status::DeadLettered,
        "what nothing was done to"
    );
    same!(detail.audit.len(), 2, "the acts");
    Ok(())
}

pub(super) async fn s298_what_was_seen_is_put_back_or_given_up_once(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 3).await?;
    let seen = subject.detail(letters[0]).await?.seen();
    for (way, id) in [JobKind::Redrive, JobKind::Discard].into_iter().zip(&letters) {
        subject.desk.rescue(way, *id, seen, &act()).await?;
        let again = subject.desk.rescue(way, *id, seen, &act()).await;
        let kind = again.map_err(|error| error.kind());
        same!(kind, Err(StoreErrorKind::NotFound), "the second time");
        let acts = subject.detail(*id).await?.audit;
        let acts: Vec<&str> = acts.iter().map(|act| act.action.as_str()).collect();
        same!(acts, [way.as_str()], "the acts");
    }
    let edit = Edit {
        payload: Some(Payload::from("mended")),
        seen: Some(seen),
        redrive: true,
        ..Edit::default()
    };
    let id = letters[2];
    subject.desk.edit(MessageRef::Id(id), &edit, &act()).await?;
    let detail = subject.detail(id).await?;
    let live = [Status::Pending, Status::Processing].contains(&detail.record.status);
    check!(
        live,
        "what was saved is put back, and not {}",
        detail.record.status
    );
    same!(
        detail.record.payload,
        Some(Payload::from("mended")),
        "the payload"
    );
    let acts: Vec<&str> = detail.audit.iter().map(|act| act.action.as_str()).collect();
    same!(acts, ["edit", "redrive"], "the acts");
    Ok(())
}

pub(super) async fn s274_what_retention_forgets_does_not_make_an_old_look_a_new_one(
    factory: &dyn Factory,
) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 1).await?;
    let message = MessageRef::Id(letters[0]);
    let edit = |payload: &str, seen: Option<Seen>| Edit {
        payload: Some(Payload::from(payload)),
        seen,
        ..Edit::default()
    };
    subject.desk.edit(message, &edit("one", None), &act()).await?;
    let seen = subject.detail(letters[0]).await?.seen();
    subject.desk.edit(message, &edit("two", None), &act()).await?;
    let past = subject.time_from_now(-2 * 24 * 3_600_000).await?;
    let statement = format!("UPDATE redeliver_audit SET at = {past} WHERE number = 1");
    subject.execute(&statement).await?;
    let retention = Retention {
        audit: Some(24 * HOUR),
        ..Retention::default()
    };
    subject.desk.retain(&retention).await?;
    let detail = subject.detail(letters[0]).await?;
    same!(detail.audit.len(), 1, "acts that are left, as many as were seen");
    same!(
        subject.desk.newest_acts(&letters).await?,
        [detail.seen().newest_act],
        "the newest act, as a patch asks for it"
    );
    let late = subject
        .desk
        .edit(message, &edit("three", Some(seen)), &act())
        .await;
    let told = late.err().map(|error| error.to_string()).unwrap_or_default();
    check!(told.contains("ana did \"edit\""), "what happened since: {told}");
    let now = edit("three", Some(detail.seen()));
    Ok(subject.desk.edit(message, &now, &act()).await?)
}

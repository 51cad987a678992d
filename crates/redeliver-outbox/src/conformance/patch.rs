//! Changing many dead letters in the same way.

use super::{
    Factory,
    failure::{Outcome, check, none, same},
    redrive::{dead_letters, message},
    subject::{Subject, act, only},
};
use crate::{
    DeadReason, Payload,
    desk::{Act, DeadLetter, Edit, Filter, MessageRef, Patch},
    limits::{PATCH_LIMIT, PATCH_SAMPLE},
    state::Status,
    store::StoreErrorKind,
};

fn mended() -> Patch {
    let fields = [("broken".to_owned(), false.into())];
    Patch {
        fields: fields.into_iter().collect(),
        destination: None,
    }
}

fn bo() -> Act {
    Act {
        who: "bo".to_owned(),
        why: "quicker".to_owned(),
    }
}

pub(super) async fn s271_a_patch_changes_what_it_was_shown(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 5).await?;
    let preview = subject.desk.preview_patch(&Filter::default(), Some(4)).await?;
    same!(
        (preview.matched, preview.sight.len(), preview.sample.len()),
        (5, 4, PATCH_SAMPLE),
        "matched, seen and shown"
    );
    same!(preview.sample[0].id, letters[0], "the oldest is shown");
    check!(
        preview.sample[0].payload.is_some(),
        "it is shown with its payload"
    );
    none!(subject.desk.audit(10).await?, "acts after a look");
    subject.dead_letter(&worker, message()).await?;
    let patched = subject.desk.patch(&mended(), &preview.sight, &act()).await?;
    same!(patched.edited, letters[..4], "those that were seen");
    none!(patched.refused, "those that were refused");
    let detail = subject.detail(letters[0]).await?;
    same!(
        detail.record.payload,
        Some(Payload::from(r#"{"broken":false}"#)),
        "the payload"
    );
    same!(
        detail.original_payload,
        Some(Payload::from(r#"{"broken":true}"#)),
        "the payload as it was inserted"
    );
    same!(
        subject.detail(letters[4]).await?.audit.len(),
        0,
        "acts on one that was not meant"
    );
    // Seen as they are now: what is so already stays, without an act on record.
    let again = subject.desk.preview_patch(&Filter::default(), Some(4)).await?;
    let patched = subject.desk.patch(&mended(), &again.sight, &act()).await?;
    same!(
        (patched.edited.len(), patched.unchanged.len()),
        (0, 4),
        "what a second time does"
    );
    same!(
        subject.detail(letters[0]).await?.audit.len(),
        1,
        "acts on one of them"
    );
    let nothing = subject.desk.patch(&Patch::default(), &again.sight, &act()).await;
    same!(
        nothing.map_err(|error| error.kind()),
        Err(StoreErrorKind::BadInput),
        "a patch of nothing"
    );
    Ok(())
}

pub(super) async fn s272_a_patch_leaves_alone_what_was_changed_meanwhile(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 6).await?;
    let text = Edit {
        payload: Some(Payload::from("no JSON")),
        ..Edit::default()
    };
    subject
        .desk
        .edit(MessageRef::Id(letters[4]), &text, &act())
        .await?;
    let sight = subject.desk.preview_patch(&Filter::default(), None).await?.sight;
    let other = Edit {
        payload: Some(Payload::from(r#"{"by":"bo"}"#)),
        ..Edit::default()
    };
    subject
        .desk
        .edit(MessageRef::Id(letters[0]), &other, &bo())
        .await?;
    subject.desk.redrive(&only(letters[1]), 1, &bo()).await?;
    subject.desk.discard(&only(letters[2]), 1, &bo()).await?;
    let patched = subject.desk.patch(&mended(), &sight, &act()).await?;
    same!(
        patched.edited,
        [letters[3], letters[5]],
        "those that were patched"
    );
    let refused: Vec<_> = patched
        .refused
        .iter()
        .map(|one| (one.number, one.status))
        .collect();
    let expected = [
        (letters[0].number(), Some(Status::DeadLettered)),
        (
            letters[1].number(),
            Some(subject.record(letters[1]).await?.status),
        ),
        (letters[2].number(), Some(Status::Discarded)),
        (letters[4].number(), Some(Status::DeadLettered)),
    ];
    same!(refused, expected, "those that were refused, and where they are");
    for (refused, action) in patched.refused.iter().zip(["edit", "redrive", "discard"]) {
        let told = &refused.what;
        check!(
            told.contains("bo did") && told.contains(action),
            "who did {action}: {told}"
        );
    }
    check!(
        patched.refused[3].what.contains("no JSON"),
        "what speaks against it: {}",
        patched.refused[3].what
    );
    same!(
        subject.record(letters[0]).await?.payload,
        Some(Payload::from(r#"{"by":"bo"}"#)),
        "the payload that bo gave it"
    );
    same!(
        subject.detail(letters[1]).await?.audit.len(),
        1,
        "acts on the one that bo put back"
    );
    Ok(())
}

pub(super) async fn s273_a_patch_for_too_many_is_refused(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 4).await?;
    let nothing = subject.desk.preview_patch(&Filter::default(), None).await?;
    check!(
        nothing.sight.is_empty() && nothing.sample.is_empty(),
        "nothing is there"
    );
    let letter = DeadLetter {
        message: message(),
        reason: DeadReason::Permanent,
        error: "422".to_owned(),
        attempts: 1,
    };
    let letters = vec![letter; PATCH_LIMIT + 1];
    subject.desk.import(&letters, &act()).await?;
    let asked = subject.desk.preview_patch(&Filter::default(), None).await;
    same!(
        asked.map_err(|error| error.kind()).err(),
        Some(StoreErrorKind::BadInput),
        "too many at a time"
    );
    let some = subject
        .desk
        .preview_patch(&Filter::default(), Some(PATCH_LIMIT))
        .await?;
    same!(
        some.sight.len(),
        PATCH_LIMIT,
        "as many as can be patched at a time"
    );
    let told = some.sight.to_string();
    check!(
        (1..)
            .zip(told.split(','))
            .all(|(act, one): (u32, _)| one.ends_with(&format!(":0.{act}"))),
        "each has an act on record, its import"
    );
    same!(told.parse().ok(), Some(some.sight), "what comes back of it");
    Ok(())
}

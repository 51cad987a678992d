//! The audit trail is a chain: whatever is done to it by hand is found.

use std::time::Duration;

use super::{
    Factory, Failure,
    failure::{Outcome, check, none, same},
    redrive::{dead_letters, message},
    subject::{Subject, act, only},
};
use crate::{
    DeadReason, MessageId,
    desk::{
        AuditBreak, AuditMark, AuditRecord, AuditStep, DeadLetter, Edit, Filter, Layout, MessageRef,
        Retention,
    },
};

/// The version of the tables before there was a chain.
const BEFORE_THE_CHAIN: u32 = 4;

/// An outbox whose audit trail has so many entries, numbered from 1.
async fn audited(factory: &dyn Factory, count: usize) -> Outcome<(Subject, Vec<MessageId>)> {
    let (subject, _, letters) = dead_letters(factory, 1).await?;
    let edit = Edit {
        payload: Some("{}".into()),
        ..Edit::default()
    };
    for _ in 0..count {
        let letter = MessageRef::Id(letters[0]);
        subject.desk.edit(letter, &edit, &act()).await?;
    }
    Ok((subject, letters))
}

/// The whole chain, in steps of so many.
async fn walk(subject: &Subject, limit: usize) -> Outcome<(Vec<AuditMark>, AuditStep)> {
    let mut fit = Vec::new();
    let mut after = None;
    loop {
        let step = subject.desk.verify_audit(after, limit).await?;
        fit.extend(step.fit.iter().cloned());
        after = step.next.clone();
        if after.is_none() {
            return Ok((fit, step));
        }
    }
}

async fn broken(subject: &Subject) -> Outcome<Option<AuditBreak>> {
    Ok(walk(subject, 3).await?.1.broken)
}

pub(super) async fn s210_an_untouched_trail_holds(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 3).await?;
    let empty = subject.desk.verify_audit(None, 10).await?;
    none!(empty.fit, "entries before the first act");
    same!(empty.broken, None, "what is wrong with none");
    let edit = Edit {
        payload: Some("té\"st\\ 🦀 \n".into()),
        ..Edit::default()
    };
    let odd = crate::desk::Act {
        who: " o'hara 5:x, ".to_owned(),
        why: "tést 🦀\t\\ \"".to_owned(),
    };
    subject.desk.edit(MessageRef::Id(letters[0]), &edit, &odd).await?;
    subject.desk.redrive(&only(letters[0]), 1, &odd).await?;
    subject.desk.discard(&only(letters[1]), 1, &odd).await?;
    subject.desk.reveal(&letters[..2], &odd).await?;
    subject.desk.pause("billing", &odd).await?;
    subject.desk.resume("billing", None, &odd).await?;
    let letter = DeadLetter {
        message: message(),
        reason: DeadReason::Permanent,
        error: String::new(),
        attempts: 1,
    };
    subject.desk.import(&[letter.clone(), letter], &odd).await?;
    for limit in [1, 2, 7, 100] {
        let (fit, last) = walk(&subject, limit).await?;
        same!(last.broken, None, "what is wrong, in steps of {limit}");
        same!(last.older, 0, "entries older than the chain");
        let numbers: Vec<i64> = fit.iter().map(|mark| mark.number).collect();
        same!(
            numbers,
            (1..=9).collect::<Vec<_>>(),
            "entries, in steps of {limit}"
        );
        same!(fit.last(), last.head.as_ref(), "the head");
        let newest = subject.desk.audit(100).await?;
        let listed: Vec<AuditMark> = newest.iter().rev().filter_map(mark).collect();
        same!(listed, fit, "the marks as they are listed");
    }
    Ok(())
}

fn mark(record: &AuditRecord) -> Option<AuditMark> {
    Some(AuditMark {
        number: record.number,
        hash: record.hash.clone()?,
    })
}

pub(super) async fn s211_a_changed_entry_is_found(factory: &dyn Factory) -> Outcome {
    let (subject, letters) = audited(factory, 5).await?;
    let entries = subject.desk.audit(10).await?;
    let entry = entries
        .iter()
        .find(|entry| entry.number == 3)
        .ok_or_else(|| Failure::new("there is no entry 3"))?;
    let later = crate::Timestamp::from_millis(entry.at.as_millis() + 1);
    let (at, later) = (subject.harness.time(entry.at), subject.harness.time(later));
    let (detail, hash) = (
        format!("'{}'", entry.detail),
        format!("'{}'", entry.hash.as_deref().unwrap_or("")),
    );
    let (number, salt) = (letters[0].number(), letters[0].salt());
    let changes = [
        ("at", later, at),
        ("who", "'eve'".to_owned(), "'ana'".to_owned()),
        ("action", "'redrive'".to_owned(), "'edit'".to_owned()),
        ("message_number", (number + 1).to_string(), number.to_string()),
        ("message_salt", (salt ^ 1).to_string(), salt.to_string()),
        ("why", "'the suite '".to_owned(), "'the suite'".to_owned()),
        ("detail", "''".to_owned(), detail),
        ("hash", format!("'{}'", "0".repeat(64)), hash),
    ];
    for (column, changed, original) in changes {
        let set = |value: &str| format!("UPDATE redeliver_audit SET {column} = {value} WHERE number = 3");
        subject.execute(&set(&changed)).await?;
        same!(
            broken(&subject).await?,
            Some(AuditBreak::Changed { number: 3 }),
            "with another {column}"
        );
        subject.execute(&set(&original)).await?;
        same!(broken(&subject).await?, None, "with its own {column} again");
    }
    Ok(())
}

pub(super) async fn s212_a_removed_entry_is_found(factory: &dyn Factory) -> Outcome {
    let missing = |after, before| Some(AuditBreak::Missing { after, before });
    let cases = [
        ("number = 1", missing(0, 2)),
        ("number IN (2, 3)", missing(1, 4)),
        ("number = 5", Some(AuditBreak::Truncated { after: 4, head: 5 })),
        ("number > 0", Some(AuditBreak::Truncated { after: 0, head: 5 })),
    ];
    for (gone, expected) in cases {
        let (subject, _) = audited(factory, 5).await?;
        subject
            .execute(&format!("DELETE FROM redeliver_audit WHERE {gone}"))
            .await?;
        same!(broken(&subject).await?, expected, "without {gone}");
    }
    Ok(())
}

pub(super) async fn s213_entries_in_another_order_are_found(factory: &dyn Factory) -> Outcome {
    let (subject, _) = audited(factory, 5).await?;
    for (from, to) in [(2, 100), (3, 2), (100, 3)] {
        subject
            .execute(&format!(
                "UPDATE redeliver_audit SET number = {to} WHERE number = {from}"
            ))
            .await?;
    }
    let moved = AuditBreak::Reordered {
        number: 2,
        found_at: 3,
    };
    same!(broken(&subject).await?, Some(moved), "with two entries swapped");
    Ok(())
}

pub(super) async fn s214_an_entry_written_by_hand_is_found(factory: &dyn Factory) -> Outcome {
    // The next number, one a little later, and the last one that there is.
    for number in [3, 4, i64::MAX] {
        for hash in ["NULL".to_owned(), format!("'{}'", "a".repeat(64))] {
            let (subject, letters) = audited(factory, 2).await?;
            let now = subject.time_from_now(0).await?;
            let insert = format!(
                "INSERT INTO redeliver_audit (number, at, who, action, why, detail, hash) \
                 VALUES ({number}, {now}, 'eve', 'discard', '', '', {hash})"
            );
            subject.execute(&insert).await?;
            let inserted = Some(AuditBreak::Inserted { number });
            same!(broken(&subject).await?, inserted, "{number} with hash {hash}");
            // It is in nobody's way, and does not become right by what follows.
            for letter in &letters {
                same!(subject.redrive(&only(*letter)).await?, [*letter], "redriven");
            }
            let after = broken(&subject).await?;
            check!(
                matches!(
                    after,
                    Some(AuditBreak::Inserted { number: met } | AuditBreak::Changed { number: met }) if met == number
                ),
                "{number}, two acts later: {after:?}"
            );
        }
    }
    Ok(())
}

pub(super) async fn s215_what_retention_leaves_is_a_chain(factory: &dyn Factory) -> Outcome {
    let (subject, letters) = audited(factory, 4).await?;
    let before = walk(&subject, 10).await?.0;
    let retention = Retention {
        audit: Some(Duration::from_secs(24 * 3600)),
        ..Retention::default()
    };
    let past = subject.time_from_now(-2 * 24 * 3_600_000).await?;
    let age = |number: i64| format!("UPDATE redeliver_audit SET at = {past} WHERE number = {number}");
    subject.execute(&age(2)).await?;
    same!(
        subject.desk.retain(&retention).await?.rows,
        0,
        "rows forgotten behind a young one"
    );
    subject.execute(&age(1)).await?;
    same!(subject.desk.retain(&retention).await?.rows, 2, "rows forgotten");
    let (fit, last) = walk(&subject, 10).await?;
    same!(last.broken, None, "what is wrong with what is left");
    same!(fit, before[2..], "the entries that are left");
    same!(last.behind, before[1], "what they stand on");
    subject.redrive(&only(letters[0])).await?;
    same!(broken(&subject).await?, None, "what is wrong after another act");
    subject
        .execute("DELETE FROM redeliver_audit WHERE number = 3")
        .await?;
    let missing = AuditBreak::Missing { after: 2, before: 4 };
    same!(
        broken(&subject).await?,
        Some(missing),
        "without the first that was left"
    );
    Ok(())
}

pub(super) async fn s216_what_is_older_than_the_chain_is_counted(factory: &dyn Factory) -> Outcome {
    let (subject, letters) = audited(factory, 2).await?;
    let layout = Layout { shards: 4 };
    let newest = subject.desk.version().await?;
    subject.desk.migrate(layout, Some(BEFORE_THE_CHAIN)).await?;
    subject.desk.migrate(layout, None).await?;
    same!(subject.desk.version().await?, newest, "the version");
    subject.redrive(&only(letters[0])).await?;
    let step = subject.desk.verify_audit(None, 10).await?;
    same!(
        (step.older, step.fit.len()),
        (2, 1),
        "older entries, and entries of the chain"
    );
    same!(step.broken, None, "what is wrong");
    let hashes: Vec<bool> = subject
        .desk
        .audit(10)
        .await?
        .iter()
        .map(|entry| entry.hash.is_some())
        .collect();
    same!(
        hashes,
        [true, false, false],
        "which have a hash, the newest first"
    );
    let forged = format!(
        "UPDATE redeliver_audit SET hash = '{}' WHERE number = 1",
        "a".repeat(64)
    );
    subject.execute(&forged).await?;
    same!(
        broken(&subject).await?,
        Some(AuditBreak::Inserted { number: 1 }),
        "with a hash before the chain"
    );
    Ok(())
}

pub(super) async fn s217_operators_at_the_same_time_make_one_chain(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 24).await?;
    let act = act();
    let all = Filter::default();
    let edit = Edit {
        payload: Some("{}".into()),
        ..Edit::default()
    };
    let operators = (0..12).map(|operator| {
        let (subject, letters, act, all, edit) = (&subject, &letters, &act, &all, &edit);
        async move {
            let mut acts = 0;
            for round in 0..6 {
                acts += match (operator + round) % 6 {
                    0 => subject.desk.redrive(all, 2, act).await?.len(),
                    1 => subject.desk.discard(all, 1, act).await?.len(),
                    2 => usize::from(subject.desk.pause("billing", act).await?.new),
                    3 => usize::from(subject.desk.resume("billing", None, act).await?.is_some()),
                    4 => {
                        let letter = MessageRef::Id(letters[letters.len() - 1 - operator]);
                        usize::from(subject.desk.edit(letter, edit, act).await.is_ok())
                    }
                    _ => {
                        let hold = crate::NewHold {
                            destination: "billing".to_owned(),
                            cause: crate::HoldCause::Surge,
                            detail: String::new(),
                        };
                        let worker = crate::store::WorkerId(format!("w{operator}"));
                        usize::from(subject.store.hold(&worker, &hold).await?.new)
                    }
                };
            }
            Ok::<usize, Failure>(acts)
        }
    });
    let mut acts = 0;
    for done in futures_util::future::join_all(operators).await {
        acts += done?;
    }
    let (fit, last) = walk(&subject, 10).await?;
    same!(last.broken, None, "what is wrong");
    same!(fit.len(), acts, "entries, one an act");
    same!(
        fit.last().map(|mark| mark.number),
        i64::try_from(acts).ok(),
        "the last number"
    );
    Ok(())
}

pub(super) async fn s218_without_its_head_nothing_is_proved_and_nothing_done(
    factory: &dyn Factory,
) -> Outcome {
    let (subject, letters) = audited(factory, 2).await?;
    subject.execute("DELETE FROM redeliver_audit_chain").await?;
    same!(
        broken(&subject).await?,
        Some(AuditBreak::Headless),
        "what is wrong"
    );
    let redriven = subject.desk.redrive(&only(letters[0]), 1, &act()).await;
    let next = redriven.as_ref().err().map(|error| error.next_step().to_owned());
    check!(
        next.is_some_and(|next| !next.is_empty()),
        "it is refused with a next step: {redriven:?}"
    );
    // As docs/tables.md says it.
    subject.execute("UPDATE redeliver_audit SET hash = NULL").await?;
    let nothing = "0".repeat(64);
    subject
        .execute(&format!(
            "INSERT INTO redeliver_audit_chain (single, head_number, head_hash, anchor_number, anchor_hash) \
             SELECT 1, COALESCE(MAX(number), 0), '{nothing}', COALESCE(MAX(number), 0), '{nothing}' FROM redeliver_audit"
        ))
        .await?;
    same!(
        subject.redrive(&only(letters[0])).await?,
        [letters[0]],
        "redriven with a new chain"
    );
    let step = subject.desk.verify_audit(None, 10).await?;
    same!(
        (step.older, step.fit.len(), step.broken),
        (2, 1, None),
        "the new chain"
    );
    Ok(())
}

pub(super) async fn s219_an_act_on_many_is_one_piece_of_the_chain(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let letter = DeadLetter {
        message: message(),
        reason: DeadReason::Permanent,
        error: String::new(),
        attempts: 1,
    };
    let letters = vec![letter; 1100];
    let imported = subject.desk.import(&letters, &act()).await?;
    same!(subject.redrive(&Filter::default()).await?, imported, "redriven");
    let (fit, last) = walk(&subject, 1000).await?;
    same!(last.broken, None, "what is wrong");
    same!(fit.len(), 2200, "entries");
    Ok(())
}

//! Dead letters that failed in the same way are one issue.

use super::{
    Factory, Failure,
    failure::{Outcome, check, none, same},
    subject::{Subject, Worker, act, only},
};
use crate::{
    DeadReason, Fingerprint, MessageId, NewMessage,
    desk::{DeadLetter, Edit, Filter, Issue, Layout, MessageRef, Retention},
    state::Status,
    store::{AfterDeath, Verdict},
};

const LAYOUT: Layout = Layout { shards: 2 };

fn refused(error: &str) -> Verdict {
    Verdict::Dead {
        attempted: None,
        reason: DeadReason::Permanent,
        error: error.to_owned(),
        lane: AfterDeath::None,
    }
}

fn of_issue(fingerprint: Fingerprint) -> Filter {
    Filter {
        issue: Some(fingerprint),
        ..Filter::default()
    }
}

/// So many messages to `billing` that failed alike, each with a number of its own in its error.
async fn failed_alike(subject: &Subject, worker: &Worker, count: usize) -> Outcome<Vec<MessageId>> {
    let ids = subject.enqueue_some(count).await?;
    let verdicts: Vec<_> = ids
        .iter()
        .map(|id| {
            (
                *id,
                refused(&format!("409 Conflict: order {} is closed", id.number() + 7000)),
            )
        })
        .collect();
    subject.settle(worker, &verdicts).await?;
    Ok(ids)
}

async fn first_issue(subject: &Subject) -> Outcome<Issue> {
    let issues = subject.desk.issues(10).await?;
    let first = issues.into_iter().next();
    first.ok_or_else(|| Failure::new("there is no issue"))
}

pub(super) async fn s250_what_failed_alike_is_one_issue(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    none!(subject.desk.issues(10).await?, "issues of an empty outbox");
    let worker = subject.worker("w").await?;
    let alike = failed_alike(&subject, &worker, 5).await?;
    let mail = subject.enqueue_one(NewMessage::to("mail").payload("{}")).await?;
    subject
        .settle_one(&worker, mail, refused("409 Conflict: order 1 is closed"))
        .await?;
    let issues = subject.desk.issues(10).await?;
    let told: Vec<_> = issues
        .iter()
        .map(|issue| (issue.destination.as_str(), issue.count, issue.reason))
        .collect();
    let permanent = Some(DeadReason::Permanent);
    same!(
        told,
        [("billing", 5, permanent), ("mail", 1, permanent)],
        "the issues, those with the most letters first"
    );
    same!(issues[1].sample, mail, "the only letter of the second");
    check!(alike.contains(&issues[0].sample), "a letter of the first");
    let expected = Fingerprint::of("billing", "permanent", "409 Conflict: order 12345 is closed");
    same!(issues[0].fingerprint, expected, "the fingerprint");
    let newest = subject.record(issues[0].sample).await?;
    same!(
        Some(issues[0].error.clone()),
        newest.last_error,
        "the error of the newest"
    );
    same!(
        newest.issue,
        Some(issues[0].fingerprint),
        "the issue of the newest"
    );
    same!(
        newest.dead_lettered_at,
        Some(issues[0].last_seen),
        "when it was last seen"
    );
    check!(issues[0].first_seen <= issues[0].last_seen, "first before last");
    same!(subject.desk.issues(1).await?.len(), 1, "issues, one at most");
    Ok(())
}

pub(super) async fn s251_an_issue_narrows_what_is_done(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let alike = failed_alike(&subject, &worker, 4).await?;
    let other = subject
        .enqueue_one(NewMessage::to("billing").payload("{}"))
        .await?;
    subject
        .settle_one(&worker, other, refused("404 Not Found"))
        .await?;
    let fingerprint = first_issue(&subject).await?.fingerprint;
    same!(
        subject.matching(&of_issue(fingerprint)).await?,
        alike,
        "letters of the issue"
    );
    let both = Filter {
        issue: Some(fingerprint),
        ..only(alike[1])
    };
    same!(subject.redrive(&both).await?, [alike[1]], "redriven of the issue");
    same!(
        subject.desk.count(&of_issue(fingerprint)).await?,
        3,
        "letters of the issue that are left"
    );
    same!(
        subject.discard(&of_issue(fingerprint)).await?,
        [alike[0], alike[2], alike[3]],
        "discarded of the issue"
    );
    let left: Vec<u64> = subject
        .desk
        .issues(10)
        .await?
        .iter()
        .map(|issue| issue.count)
        .collect();
    same!(left, [1], "issues that are left");
    check!(
        subject.desk.issue(fingerprint).await?.is_none(),
        "an issue without letters is gone"
    );
    same!(
        subject.status(other).await?,
        Status::DeadLettered,
        "the other letter"
    );
    Ok(())
}

pub(super) async fn s252_an_issue_tells_its_hours(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let alike = failed_alike(&subject, &worker, 4).await?;
    for (id, hours) in [(alike[0], 40), (alike[1], 5), (alike[2], 5)] {
        let past = subject.time_from_now(-(hours * 3_600_000 + 60_000)).await?;
        let number = id.number();
        let statement =
            format!("UPDATE redeliver_dead SET dead_lettered_at = {past} WHERE number = {number}");
        subject.execute(&statement).await?;
    }
    let fingerprint = first_issue(&subject).await?.fingerprint;
    let detail = subject.desk.issue(fingerprint).await?;
    let detail = detail.ok_or_else(|| Failure::new("the issue is not found"))?;
    let mut hours = [0; 24];
    (hours[23], hours[18]) = (1, 2);
    same!(detail.hours, hours, "letters by hour");
    same!(detail.issue.count, 4, "letters in all");
    same!(detail.issue.sample, alike[3], "the newest");
    let span = detail.issue.last_seen.since(detail.issue.first_seen);
    check!(
        span.as_secs() >= 40 * 3600,
        "the time between first and last: {span:?}"
    );
    Ok(())
}

pub(super) async fn s253_what_has_no_fingerprint_is_grouped_in_time(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let alike = failed_alike(&subject, &worker, 3).await?;
    subject.enqueue_some(2).await?;
    let before = subject.desk.issues(10).await?;
    // As an older relay leaves them.
    subject
        .execute("UPDATE redeliver_dead SET fingerprint = ''")
        .await?;
    let ungrouped = first_issue(&subject).await?;
    same!(
        (ungrouped.fingerprint, ungrouped.count),
        (Fingerprint::UNGROUPED, 3),
        "the issue of what has no fingerprint"
    );
    same!(
        subject.matching(&of_issue(Fingerprint::UNGROUPED)).await?,
        alike,
        "dead letters without a fingerprint, and nothing that lives"
    );
    let removed = subject.desk.retain(&Retention::default()).await?;
    same!(
        (removed.rows, removed.more),
        (0, false),
        "rows removed by grouping"
    );
    same!(subject.desk.issues(10).await?, before, "the issues");
    Ok(())
}

pub(super) async fn s254_an_edit_and_an_import_have_their_issue(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let alike = failed_alike(&subject, &worker, 2).await?;
    let moved = Edit {
        destination: Some("archive".to_owned()),
        ..Edit::default()
    };
    let mended = Edit {
        payload: Some("{}".into()),
        ..Edit::default()
    };
    for edit in [&moved, &mended] {
        subject.desk.edit(MessageRef::Id(alike[0]), edit, &act()).await?;
    }
    let letter = DeadLetter {
        message: NewMessage::to("archive").payload("{}"),
        reason: DeadReason::Permanent,
        error: "409 Conflict: order 1 is closed".to_owned(),
        attempts: 1,
    };
    let imported = subject.desk.import(&[letter], &act()).await?;
    let there = Fingerprint::of("archive", "permanent", "409 Conflict: order 2 is closed");
    same!(
        subject.matching(&of_issue(there)).await?,
        [alike[0], imported[0]],
        "letters of the other destination's issue"
    );
    let here = Fingerprint::of("billing", "permanent", "409 Conflict: order 2 is closed");
    same!(
        subject.matching(&of_issue(here)).await?,
        [alike[1]],
        "letters left"
    );
    Ok(())
}

pub(super) async fn s255_an_issue_tells_the_lanes_that_stand_still(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    let message = |key: &str| NewMessage::to("billing").key(key).payload("{}");
    let heads = subject
        .enqueue(&[message("a"), message("b"), message("c"), message("a")])
        .await?;
    let verdict = |lane| Verdict::Dead {
        attempted: None,
        reason: DeadReason::Expired,
        error: "it is older than 2h".to_owned(),
        lane,
    };
    let verdicts = [
        (heads[0], verdict(AfterDeath::Park)),
        (heads[1], verdict(AfterDeath::Park)),
        (heads[2], verdict(AfterDeath::Gap)),
    ];
    subject.settle(&worker, &verdicts).await?;
    let issue = first_issue(&subject).await?;
    same!(
        (issue.count, issue.parked_lanes),
        (3, 2),
        "letters, and lanes parked"
    );
    subject.discard(&only(heads[0])).await?;
    let issue = first_issue(&subject).await?;
    same!(
        (issue.count, issue.parked_lanes),
        (2, 1),
        "letters, and lanes parked"
    );
    Ok(())
}

pub(super) async fn s256_the_step_groups_what_is_in_the_tables(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let worker = subject.worker("w").await?;
    failed_alike(&subject, &worker, 3).await?;
    let before = subject.desk.issues(10).await?;
    let before_issues = subject.before("issues");
    subject.desk.migrate(LAYOUT, Some(before_issues)).await?;
    subject.desk.migrate(LAYOUT, None).await?;
    same!(subject.desk.issues(10).await?, before, "the issues");
    Ok(())
}

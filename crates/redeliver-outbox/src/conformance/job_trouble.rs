//! Jobs in trouble: a step that fails, a job that cannot be read, dead letters that are rare.

use std::time::Duration;

use super::{
    Factory, Failure,
    failure::{Outcome, check, same},
    job::{job, left, new, runner, step},
    redrive::dead_letters,
    subject::{HOUR, Subject, act},
};
use crate::{
    NewMessage, Timestamp,
    desk::{Job, NewJob},
    job::Decision,
    limits::{JOB_RETRY_LATEST, JOB_RETRY_SOONEST, JOB_WINDOW},
    store::{StoreError, StoreErrorKind},
};

fn to(destination: &str) -> NewJob {
    let mut job = new(1);
    job.filter.destination = Some(destination.to_owned());
    job
}

/// Makes its step due, the last change so many seconds before.
async fn due(subject: &Subject, job: &Job, after_seconds: i64) -> Outcome {
    let now = subject.now().await?.as_millis();
    let at = |seconds: i64| subject.harness.time(Timestamp::from_millis(now - seconds * 1000));
    let (due, changed) = (at(1), at(1 + after_seconds));
    let statement = format!(
        "UPDATE redeliver_jobs SET next_step_at = {due}, updated_at = {changed} WHERE id = {}",
        job.id
    );
    subject.execute(&statement).await
}

/// Takes a step that fails, and says for how many seconds the job was put off.
async fn fails(subject: &Subject, broken: &Job) -> Outcome<u64> {
    let failed = subject.desk.step_job(&runner("one"), Some(broken.id)).await;
    let told = failed.err().map(|error| error.to_string()).unwrap_or_default();
    check!(
        told.contains(&format!("job {} failed", broken.id)),
        "it says which: {told}"
    );
    let job = job(subject, broken.id).await?;
    same!(job.state, broken.state, "its state");
    check!(
        job.note.contains("failed, and is tried again") && job.runner.is_none(),
        "the job tells it: {job:?}"
    );
    let millis = job.next_step_at.as_millis() - job.updated_at.as_millis();
    Ok((millis.unsigned_abs() + 500) / 1000)
}

pub(super) async fn s236_a_step_that_fails_keeps_no_other_job(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 2).await?;
    let mail = NewMessage::to("mail").payload("{}");
    subject.dead_letter(&worker, mail).await?;
    let broken = subject.desk.create_job(&to("billing"), &act()).await?;
    let whole = subject.desk.create_job(&to("mail"), &act()).await?;
    // It has let this one out already, it seems, and cannot again.
    let first = letters[0].number();
    subject
        .execute(&format!(
            "INSERT INTO redeliver_job_messages (job, number, salt, shard, redrives, outcome) VALUES ({}, {first}, 1, 0, 9, 'delivered')",
            broken.id
        ))
        .await?;
    due(&subject, &broken, 0).await?;
    let failed = subject.desk.step_job(&runner("one"), None).await;
    check!(
        failed.is_err(),
        "the one that is due for longest fails: {failed:?}"
    );
    same!(left(&subject).await?, 3, "dead letters after a step that failed");
    same!(
        step(&subject).await?.job.id,
        whole.id,
        "the job that has its turn"
    );
    due(&subject, &broken, 0).await?;
    same!(
        fails(&subject, &broken).await?,
        JOB_RETRY_SOONEST.as_secs(),
        "seconds at first"
    );
    due(&subject, &broken, 50).await?;
    same!(fails(&subject, &broken).await?, 100, "seconds, after 50 before");
    due(&subject, &broken, 86_400).await?;
    same!(
        fails(&subject, &broken).await?,
        JOB_RETRY_LATEST.as_secs(),
        "seconds at last"
    );
    subject.execute("DELETE FROM redeliver_job_messages").await?;
    due(&subject, &broken, 0).await?;
    let mended = subject.desk.step_job(&runner("one"), Some(broken.id)).await?;
    let mended = mended.ok_or_else(|| Failure::new("it is not due"))?;
    same!(mended.job.tally.released, 1, "let out when it is mended");
    Ok(())
}

pub(super) async fn s237_a_job_of_a_newer_version_keeps_no_other(factory: &dyn Factory) -> Outcome {
    let (subject, ..) = dead_letters(factory, 2).await?;
    let newer = subject.desk.create_job(&to("mail"), &act()).await?;
    let ours = subject.desk.create_job(&to("billing"), &act()).await?;
    let unknown = "UPDATE redeliver_jobs SET matching = '{\"colour\":\"red\"}'";
    let statement = format!("{unknown} WHERE id = {}", newer.id);
    subject.execute(&statement).await?;
    due(&subject, &newer, 0).await?;
    same!(step(&subject).await?.job.id, ours.id, "the job that is stepped");
    subject.desk.cancel_job(ours.id, &act()).await?;
    let alone = subject.desk.step_job(&runner("one"), None).await;
    same!(
        alone.as_ref().err().map(StoreError::kind),
        Some(StoreErrorKind::TooNew),
        "what is told of the other, {alone:?}"
    );
    let rows = format!("SELECT note FROM redeliver_jobs WHERE id = {}", newer.id);
    same!(
        subject.harness.rows(&rows).await?,
        [[Some(String::new())]],
        "what is changed of it"
    );
    Ok(())
}

pub(super) async fn s238_a_step_looks_no_further_than_its_window(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 3).await?;
    let mail = NewMessage::to("mail").payload("{}");
    let near = subject.dead_letter(&worker, mail).await?;
    let far = format!(
        "UPDATE redeliver_dead SET number = number + {} WHERE destination = 'billing'",
        2 * JOB_WINDOW
    );
    subject.execute(&far).await?;
    let mut patient = to("billing");
    patient.plan.canary = 5;
    patient.plan.interval = HOUR;
    same!(
        subject.desk.create_job(&patient, &act()).await?.tally.matched,
        3,
        "dead letters that it is for"
    );
    let empty = step(&subject).await?;
    same!(
        (empty.decision, empty.next, empty.job.reached, empty.job.exhausted),
        (
            Decision::Wait,
            Some(Duration::ZERO),
            near.number() + JOB_WINDOW - 1,
            false
        ),
        "where none matches"
    );
    let found = step(&subject).await?;
    let last = letters[2].number() + 2 * JOB_WINDOW;
    same!(
        (found.decision, found.next, found.job.reached),
        (Decision::Release(3), Some(HOUR), last),
        "where they are, at once"
    );
    same!(found.job.tally.released, 3, "let out");
    Ok(())
}

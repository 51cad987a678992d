//! What an operator does to jobs, and what is remembered of it.

use super::{
    Factory, Failure,
    failure::{Outcome, check, none, same},
    job::{decided, deliver, left, new, runner, step},
    redrive::dead_letters,
    subject::{HOUR, act, bury, retry},
};
use crate::{
    desk::{Act, Filter, Job, Retention},
    job::{Decision, JobKind, JobState},
    state::Status,
    store::{StoreError, StoreErrorKind},
};

pub(super) async fn s224_an_operator_holds_a_job_and_ends_it(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 20).await?;
    let made = subject.desk.create_job(&new(2), &act()).await?;
    step(&subject).await?;
    let why = Act {
        who: "bo".to_owned(),
        why: "lunch".to_owned(),
    };
    let paused = subject.desk.pause_job(made.id, &why).await?;
    same!(paused.state, JobState::Paused, "the state");
    check!(
        paused.note.contains("bo") && paused.note.contains("lunch"),
        "who and why: {}",
        paused.note
    );
    deliver(&subject, &worker, &letters[..2]).await?;
    check!(
        subject
            .desk
            .step_job(&runner("one"), Some(made.id))
            .await?
            .is_none(),
        "what is paused is not stepped"
    );
    refused(
        subject.desk.pause_job(made.id, &why).await,
        "paused already",
        "lunch",
    )?;
    same!(
        subject.desk.resume_job(made.id, &why).await?.state,
        JobState::Canary,
        "where it goes on"
    );
    refused(
        subject.desk.resume_job(made.id, &why).await,
        "not paused",
        "canary",
    )?;
    same!(
        decided(&subject).await?,
        Decision::Release(4),
        "the step after that"
    );
    let cancelled = subject.desk.cancel_job(made.id, &why).await?;
    same!(cancelled.state, JobState::Cancelled, "the state in the end");
    same!(left(&subject).await?, 14, "dead letters that are left");
    for result in [
        subject.desk.cancel_job(made.id, &why).await,
        subject.desk.pause_job(made.id, &why).await,
        subject.desk.resume_job(made.id, &why).await,
    ] {
        refused(result, "is over", "cancelled by bo")?;
    }
    refused(subject.desk.cancel_job(made.id + 1, &why).await, "no job", "")?;
    check!(
        subject.desk.job(made.id + 1).await?.is_none(),
        "there is no other job"
    );
    let acts: Vec<String> = subject
        .desk
        .audit(100)
        .await?
        .into_iter()
        .map(|act| act.action)
        .collect();
    let on_jobs: Vec<&str> = acts
        .iter()
        .rev()
        .map(String::as_str)
        .filter(|action| action.ends_with("_job"))
        .collect();
    same!(
        on_jobs,
        ["redrive_job", "pause_job", "resume_job", "cancel_job"],
        "the acts on record"
    );
    Ok(())
}

fn refused(result: crate::store::Result<Job>, what: &str, more: &str) -> Outcome {
    let kind = result.as_ref().err().map(StoreError::kind);
    same!(
        kind,
        Some(StoreErrorKind::NotFound),
        "the kind of error of {result:?}"
    );
    let told = result.err().map(|error| error.to_string()).unwrap_or_default();
    check!(
        told.contains(what) && told.contains(more),
        "it says what happened: {told}"
    );
    Ok(())
}

pub(super) async fn s233_a_job_that_stopped_goes_on_with_what_is_left(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 20).await?;
    let id = subject.desk.create_job(&new(5), &act()).await?.id;
    step(&subject).await?;
    deliver(&subject, &worker, &letters[..2]).await?;
    for letter in &letters[2..4] {
        subject.settle_one(&worker, *letter, bury()).await?;
    }
    subject.settle_one(&worker, letters[4], retry(1, HOUR)).await?;
    same!(decided(&subject).await?, Decision::Stop, "three of five");
    let unsaid = subject.desk.resume_job(id, &act_without_reason()).await;
    same!(
        unsaid.as_ref().err().map(StoreError::kind),
        Some(StoreErrorKind::BadInput),
        "without a reason: {unsaid:?}"
    );
    let why = Act {
        who: "bo".to_owned(),
        why: "the receiver is mended".to_owned(),
    };
    let resumed = subject.desk.resume_job(id, &why).await?;
    same!(
        (
            resumed.state,
            resumed.excused.tally.released,
            resumed.tally.in_vain()
        ),
        (JobState::Canary, 5, 3),
        "where it goes on, what it is excused for, and what is told of it"
    );
    same!(decided(&subject).await?, Decision::Release(5), "a canary again");
    // What was let out before dies only now: that says nothing of these.
    subject.settle_one(&worker, letters[4], bury()).await?;
    for letter in &letters[5..10] {
        subject.settle_one(&worker, *letter, bury()).await?;
    }
    let stopped = step(&subject).await?;
    same!(stopped.decision, Decision::Stop, "five of five");
    check!(
        stopped.job.note.contains("5 of 5"),
        "it says why: {}",
        stopped.job.note
    );
    subject.desk.resume_job(id, &why).await?;
    same!(
        decided(&subject).await?,
        Decision::Release(5),
        "a canary once more"
    );
    deliver(&subject, &worker, &letters[10..15]).await?;
    same!(decided(&subject).await?, Decision::Release(5), "what is left");
    deliver(&subject, &worker, &letters[15..]).await?;
    let last = step(&subject).await?;
    let tally = last.job.tally;
    same!(
        (
            last.decision,
            tally.released,
            tally.delivered,
            tally.failed,
            tally.failing
        ),
        (Decision::Finish, 20, 12, 8, 0),
        "in the end"
    );
    let done = subject.desk.resume_job(id, &why).await;
    refused(done, "is over", "done")?;
    Ok(())
}

pub(super) async fn s235_two_operators_make_one_job(factory: &dyn Factory) -> Outcome {
    let (subject, ..) = dead_letters(factory, 3).await?;
    let (job, act) = (new(1), act());
    let twice = (0..4).map(|_| subject.desk.create_job(&job, &act));
    let (made, refused): (Vec<_>, Vec<_>) = futures_util::future::join_all(twice)
        .await
        .into_iter()
        .partition(Result::is_ok);
    same!((made.len(), refused.len()), (1, 3), "jobs made and refused");
    let jobs = subject.desk.jobs(10).await?;
    let [kept] = jobs.as_slice() else {
        return Err(Failure::new(format!("one job is kept: {jobs:?}")));
    };
    let mut careful = new(3);
    careful.at_most = Some(2);
    let conflict = |result: crate::store::Result<Job>| -> Outcome {
        let error = result.err();
        same!(
            error.as_ref().map(StoreError::kind),
            Some(StoreErrorKind::Conflict),
            "the kind of {error:?}"
        );
        let told = error.map(|error| error.to_string()).unwrap_or_default();
        let expected = format!("job {} of ana does this already; look at it", kept.id);
        same!(told, expected, "what is told");
        Ok(())
    };
    for result in refused {
        conflict(result)?;
    }
    conflict(subject.desk.create_job(&careful, &act).await)?;
    subject.desk.pause_job(kept.id, &act).await?;
    conflict(subject.desk.create_job(&job, &act).await)?;
    let chain = subject.desk.verify_audit(None, 100).await?;
    same!((chain.fit.len(), chain.broken), (2, None), "the chain");
    let mut other = new(1);
    other.filter.destination = Some("billing".to_owned());
    subject.desk.create_job(&other, &act).await?;
    other.kind = JobKind::Discard;
    subject.desk.create_job(&other, &act).await?;
    subject.desk.cancel_job(kept.id, &act).await?;
    let again = subject.desk.create_job(&job, &act).await?;
    // One that a newer version made.
    let newer = format!(
        "UPDATE redeliver_jobs SET matching = '{{\"colour\":\"red\"}}' WHERE id = {}",
        again.id
    );
    subject.execute(&newer).await?;
    subject.desk.create_job(&job, &act).await?;
    Ok(())
}

fn act_without_reason() -> Act {
    Act {
        why: " ".to_owned(),
        ..act()
    }
}

pub(super) async fn s225_every_message_of_a_job_is_on_record(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 3).await?;
    let made = subject.desk.create_job(&new(3), &act()).await?;
    step(&subject).await?;
    for id in letters {
        let audit = subject.detail(id).await?.audit;
        let met: Vec<_> = audit
            .iter()
            .map(|act| (act.action.as_str(), act.who.as_str()))
            .collect();
        same!(met, [("redrive", "ana")], "the acts on it");
        let detail: serde_json::Value = serde_json::from_str(&audit[0].detail).unwrap_or_default();
        same!(detail["job"], made.id, "the job that did it");
    }
    let chain = subject.desk.verify_audit(None, 100).await?;
    same!((chain.fit.len(), chain.broken), (4, None), "the chain");
    Ok(())
}

pub(super) async fn s230_a_job_that_makes_no_sense_is_refused(factory: &dyn Factory) -> Outcome {
    let (subject, ..) = dead_letters(factory, 1).await?;
    let mut endless = new(1);
    endless.plan.factor = 0;
    let mut live = new(1);
    live.filter.statuses = vec![Status::Sent];
    for job in [endless, live] {
        let result = subject.desk.create_job(&job, &act()).await;
        let kind = result.as_ref().err().map(StoreError::kind);
        same!(
            kind,
            Some(StoreErrorKind::BadInput),
            "the kind of error of {result:?}"
        );
    }
    none!(subject.desk.jobs(10).await?, "jobs after that");
    none!(subject.desk.audit(10).await?, "acts after that");
    Ok(())
}

pub(super) async fn s231_old_jobs_are_forgotten_with_their_messages(factory: &dyn Factory) -> Outcome {
    let (subject, ..) = dead_letters(factory, 2).await?;
    let old = subject.desk.create_job(&new(1), &act()).await?;
    step(&subject).await?;
    subject.desk.cancel_job(old.id, &act()).await?;
    let paused = subject.desk.create_job(&new(1), &act()).await?;
    subject.desk.pause_job(paused.id, &act()).await?;
    let past = subject.time_from_now(-40 * 24 * 3_600_000).await?;
    subject
        .execute(&format!("UPDATE redeliver_jobs SET updated_at = {past}"))
        .await?;
    for _ in 0..2 {
        subject.desk.retain(&Retention::default()).await?;
    }
    let kept: Vec<i64> = subject.desk.jobs(10).await?.iter().map(|job| job.id).collect();
    same!(kept, [paused.id], "the jobs that are left");
    let messages = subject
        .harness
        .rows("SELECT number FROM redeliver_job_messages")
        .await?;
    same!(messages.len(), 0, "messages of jobs that are left");
    Ok(())
}

pub(super) async fn s232_jobs_and_operators_at_the_same_time(factory: &dyn Factory) -> Outcome {
    let (subject, _, letters) = dead_letters(factory, 40).await?;
    let act = act();
    let mut jobs = Vec::new();
    for destination in [None, Some("billing".to_owned())] {
        let mut job = new(if destination.is_some() { 3 } else { 0 });
        job.filter.destination = destination;
        jobs.push(subject.desk.create_job(&job, &act).await?.id);
    }
    let people = (0..8).map(|person| {
        let (subject, act, jobs) = (&subject, &act, &jobs);
        async move {
            let all = Filter::default();
            for round in 0..5 {
                match (person + round) % 4 {
                    0 => drop(
                        subject
                            .desk
                            .step_job(&runner(&format!("p{person}")), None)
                            .await?,
                    ),
                    1 => drop(subject.desk.redrive(&all, 3, act).await?),
                    2 => drop(subject.desk.discard(&all, 1, act).await?),
                    // Whoever is second is told so.
                    _ => match subject.desk.pause_job(jobs[person % 2], act).await {
                        Ok(_) => drop(subject.desk.resume_job(jobs[person % 2], act).await?),
                        Err(error) if error.kind() == StoreErrorKind::NotFound => {}
                        Err(error) => return Err(error.into()),
                    },
                }
            }
            Ok::<(), Failure>(())
        }
    });
    for done in futures_util::future::join_all(people).await {
        done?;
    }
    for id in letters {
        let detail = subject.detail(id).await?;
        let acts: Vec<&str> = detail.audit.iter().map(|act| act.action.as_str()).collect();
        let told = match (detail.record.redrives, detail.record.status) {
            (1, _) => vec!["redrive"],
            (0, Status::Discarded) => vec!["discard"],
            _ => Vec::new(),
        };
        same!(acts, told, "the acts on {id}");
    }
    let mut after = None;
    loop {
        let step = subject.desk.verify_audit(after, 10).await?;
        same!(step.broken, None, "what is wrong with the chain");
        after = step.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

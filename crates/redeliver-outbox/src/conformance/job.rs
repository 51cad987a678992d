//! Jobs: a few first, then more and more, and none when they fail.

use std::time::Duration;

use super::{
    Factory, Failure,
    failure::{Outcome, check, same},
    redrive::{dead_letters, message},
    subject::{HOUR, Subject, Worker, act, bury, delivered, only, retry},
};
use crate::{
    DeadReason, MessageId,
    desk::{DeadLetter, Filter, Job, JobStep, NewJob},
    job::{Decision, JobKind, JobPlan, JobState},
    limits::JOB_BATCH,
    state::Status,
    store::WorkerId,
};

pub(super) fn new(canary: u32) -> NewJob {
    NewJob {
        kind: JobKind::Redrive,
        filter: Filter::default(),
        at_most: None,
        plan: JobPlan {
            canary,
            interval: Duration::ZERO,
            ..JobPlan::default()
        },
    }
}

pub(super) fn runner(name: &str) -> WorkerId {
    WorkerId(name.to_owned())
}

/// One step, by the process that took all steps before.
pub(super) async fn step(subject: &Subject) -> Outcome<JobStep> {
    let step = subject.desk.step_job(&runner("one"), None).await?;
    step.ok_or_else(|| Failure::new("no job is due"))
}

pub(super) async fn decided(subject: &Subject) -> Outcome<Decision> {
    Ok(step(subject).await?.decision)
}

pub(super) async fn job(subject: &Subject, id: i64) -> Outcome<Job> {
    let job = subject.desk.job(id).await?;
    job.ok_or_else(|| Failure::new(format!("there is no job {id}")))
}

pub(super) async fn deliver(subject: &Subject, worker: &Worker, ids: &[MessageId]) -> Outcome {
    for id in ids {
        subject.settle_one(worker, *id, delivered(1)).await?;
    }
    Ok(())
}

pub(super) async fn left(subject: &Subject) -> Outcome<usize> {
    let letters = Filter {
        statuses: vec![Status::DeadLettered],
        ..Filter::default()
    };
    Ok(subject.matching(&letters).await?.len())
}

pub(super) async fn s220_a_few_first_then_more_and_more(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 25).await?;
    let preview = subject.desk.preview_job(&Filter::default()).await?;
    same!(preview.matched, 25, "dead letters that match");
    let sample: Vec<MessageId> = preview.sample.iter().map(|record| record.id).collect();
    same!(sample, letters[..5], "the sample");
    check!(
        subject.desk.step_job(&runner("one"), None).await?.is_none(),
        "there is nothing to do before there is a job"
    );
    let made = subject.desk.create_job(&new(3), &act()).await?;
    same!(
        (made.state, made.tally.matched),
        (JobState::Canary, 25),
        "the job"
    );
    same!(left(&subject).await?, 25, "dead letters before the first step");
    same!(decided(&subject).await?, Decision::Release(3), "the first step");
    same!(decided(&subject).await?, Decision::Wait, "while nothing is known");
    deliver(&subject, &worker, &letters[..2]).await?;
    same!(decided(&subject).await?, Decision::Wait, "while one is unknown");
    deliver(&subject, &worker, &letters[2..3]).await?;
    let grown = step(&subject).await?;
    same!(
        (grown.decision, grown.job.state),
        (Decision::Release(6), JobState::Ramping),
        "when all are known"
    );
    same!(grown.job.tally.delivered, 3, "delivered");
    deliver(&subject, &worker, &letters[3..9]).await?;
    same!(decided(&subject).await?, Decision::Release(12), "the third time");
    same!(decided(&subject).await?, Decision::Release(4), "what is left");
    deliver(&subject, &worker, &letters[9..24]).await?;
    same!(
        decided(&subject).await?,
        Decision::Wait,
        "while the last is on its way"
    );
    deliver(&subject, &worker, &letters[24..]).await?;
    let last = step(&subject).await?;
    same!((last.decision, last.next), (Decision::Finish, None), "in the end");
    let job = job(&subject, made.id).await?;
    same!(job, after(&last, &job), "the job as it is kept");
    same!(
        (
            job.state,
            job.tally.released,
            job.tally.delivered,
            job.tally.waiting()
        ),
        (JobState::Done, 25, 25, 0),
        "the job in the end"
    );
    check!(
        !job.note.is_empty() && job.runner.is_none(),
        "it says what happened: {job:?}"
    );
    same!(subject.desk.jobs(10).await?, [job], "the list of jobs");
    check!(
        subject.desk.step_job(&runner("one"), None).await?.is_none(),
        "what is over is not stepped"
    );
    Ok(())
}

/// The job after a step, with the times that the database gave it.
fn after(step: &JobStep, read: &Job) -> Job {
    Job {
        updated_at: read.updated_at,
        next_step_at: read.next_step_at,
        ..step.job.clone()
    }
}

pub(super) async fn s221_it_stops_by_itself_when_too_many_fail(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 20).await?;
    let made = subject.desk.create_job(&new(5), &act()).await?;
    step(&subject).await?;
    deliver(&subject, &worker, &letters[..3]).await?;
    subject.settle_one(&worker, letters[3], bury()).await?;
    subject.settle_one(&worker, letters[4], retry(1, HOUR)).await?;
    let stopped = step(&subject).await?;
    same!(
        (stopped.decision, stopped.job.state),
        (Decision::Stop, JobState::Stopped),
        "two of five"
    );
    let tally = stopped.job.tally;
    same!(
        (tally.delivered, tally.failed, tally.failing),
        (3, 1, 1),
        "the tally"
    );
    check!(
        stopped.job.note.contains("2 of 5"),
        "it says why: {}",
        stopped.job.note
    );
    same!(left(&subject).await?, 16, "dead letters that are left");
    let acts = subject.desk.audit(1).await?;
    same!(acts[0].action, "stop_job", "it is on record");
    check!(
        acts[0].detail.contains(&made.id.to_string()),
        "with the job: {}",
        acts[0].detail
    );
    Ok(())
}

pub(super) async fn s234_what_went_well_for_long_does_not_hide_what_fails_now(
    factory: &dyn Factory,
) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 40).await?;
    let made = subject.desk.create_job(&new(5), &act()).await?;
    step(&subject).await?;
    deliver(&subject, &worker, &letters[..5]).await?;
    same!(decided(&subject).await?, Decision::Release(10), "the second time");
    // As if it had let out many before.
    subject
        .execute("UPDATE redeliver_jobs SET matched = matched + 100000, released = released + 100000, delivered = delivered + 100000")
        .await?;
    deliver(&subject, &worker, &letters[5..12]).await?;
    for id in &letters[12..15] {
        subject.settle_one(&worker, *id, retry(1, HOUR)).await?;
    }
    same!(
        decided(&subject).await?,
        Decision::Release(20),
        "three of fifteen"
    );
    for id in &letters[15..18] {
        subject.settle_one(&worker, *id, bury()).await?;
    }
    let stopped = step(&subject).await?;
    same!(stopped.decision, Decision::Stop, "six of eighteen");
    check!(
        stopped.job.note.contains("6 of the last 18"),
        "it says why: {}",
        stopped.job.note
    );
    let why = crate::desk::Act {
        who: "bo".to_owned(),
        why: "mended".to_owned(),
    };
    subject.desk.resume_job(made.id, &why).await?;
    same!(
        decided(&subject).await?,
        Decision::Release(5),
        "what failed before says nothing of what comes then"
    );
    Ok(())
}

pub(super) async fn s222_what_fails_first_may_arrive_later(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 12).await?;
    let mut plan = new(4);
    plan.plan.stop_permille = 500;
    subject.desk.create_job(&plan, &act()).await?;
    step(&subject).await?;
    deliver(&subject, &worker, &letters[..2]).await?;
    for id in &letters[2..4] {
        subject.settle_one(&worker, *id, retry(1, HOUR)).await?;
    }
    let next = step(&subject).await?;
    same!(next.decision, Decision::Release(8), "half of them may fail");
    same!(next.job.tally.failing, 2, "failing");
    subject.settle_one(&worker, letters[2], delivered(2)).await?;
    let death = super::subject::dead(Some(2), DeadReason::Permanent, crate::store::AfterDeath::None);
    subject.settle_one(&worker, letters[3], death).await?;
    deliver(&subject, &worker, &letters[4..]).await?;
    let last = step(&subject).await?;
    same!(last.decision, Decision::Finish, "in the end");
    let tally = last.job.tally;
    same!(
        (tally.delivered, tally.failing, tally.failed),
        (11, 0, 1),
        "the tally"
    );
    Ok(())
}

pub(super) async fn s223_a_step_is_taken_by_one_process(factory: &dyn Factory) -> Outcome {
    let (subject, _, _) = dead_letters(factory, 9).await?;
    let made = subject.desk.create_job(&new(3), &act()).await?;
    let names: Vec<WorkerId> = (0..6).map(|index| runner(&format!("p{index}"))).collect();
    let steps = names.iter().map(|name| subject.desk.step_job(name, None));
    let mut taken = Vec::new();
    for step in futures_util::future::join_all(steps).await {
        taken.extend(step?);
    }
    same!(taken.len(), 1, "steps of six processes at once");
    same!(left(&subject).await?, 6, "dead letters that are left");
    let holder = job(&subject, made.id).await?.runner;
    let (other, mine) = (runner("somebody else"), runner(holder.as_deref().unwrap_or("")));
    check!(
        subject.desk.step_job(&other, None).await?.is_none(),
        "another process leaves it to the one that has it"
    );
    check!(
        subject.desk.step_job(&mine, Some(made.id)).await?.is_some(),
        "the one that has it goes on"
    );
    // It has gone silent.
    let past = subject.time_from_now(-1000).await?;
    subject
        .execute(&format!("UPDATE redeliver_jobs SET runner_until = {past}"))
        .await?;
    let taken_over = subject.desk.step_job(&other, None).await?;
    same!(
        taken_over.and_then(|step| step.job.runner),
        Some(other.0),
        "who has it then"
    );
    Ok(())
}

pub(super) async fn s226_no_letter_is_let_out_twice_and_none_that_came_later(
    factory: &dyn Factory,
) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 6).await?;
    let mut careless = new(2);
    careless.plan.stop_permille = 1000;
    careless.at_most = Some(4);
    let made = subject.desk.create_job(&careless, &act()).await?;
    same!(made.tally.matched, 4, "dead letters that it is for");
    let later = subject.dead_letter(&worker, message()).await?;
    step(&subject).await?;
    for id in &letters[..2] {
        subject.settle_one(&worker, *id, bury()).await?;
    }
    same!(decided(&subject).await?, Decision::Release(2), "the second time");
    for id in &letters[2..4] {
        same!(subject.record(*id).await?.redrives, 1, "redrives of the next two");
        subject.settle_one(&worker, *id, bury()).await?;
    }
    same!(decided(&subject).await?, Decision::Finish, "in the end");
    for id in &letters[..4] {
        same!(
            subject.record(*id).await?.redrives,
            1,
            "redrives of what died again"
        );
    }
    for id in letters[4..].iter().chain([&later]) {
        same!(subject.record(*id).await?.redrives, 0, "redrives of the others");
    }
    Ok(())
}

pub(super) async fn s227_what_others_do_meanwhile_is_counted_right(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 6).await?;
    let mut patient = new(2);
    patient.plan.stop_permille = 1000;
    subject.desk.create_job(&patient, &act()).await?;
    step(&subject).await?;
    // It died, and another operator put it back: in this life it failed.
    subject.settle_one(&worker, letters[0], bury()).await?;
    subject.redrive(&only(letters[0])).await?;
    deliver(&subject, &worker, &letters[1..2]).await?;
    // These are given up before it is their turn.
    for id in &letters[2..5] {
        subject.discard(&only(*id)).await?;
    }
    let next = step(&subject).await?;
    let tally = next.job.tally;
    same!((tally.delivered, tally.failed), (1, 1), "the tally");
    same!(
        (next.decision, tally.released),
        (Decision::Release(4), 3),
        "the step"
    );
    deliver(&subject, &worker, &letters[5..]).await?;
    let last = step(&subject).await?;
    same!(last.decision, Decision::Finish, "in the end");
    check!(
        last.job.note.contains("no dead letters any more"),
        "it says what was missing: {}",
        last.job.note
    );
    Ok(())
}

pub(super) async fn s228_a_job_gives_up_what_matches(factory: &dyn Factory) -> Outcome {
    let (subject, worker, letters) = dead_letters(factory, 3).await?;
    let mail = subject
        .dead_letter(&worker, crate::NewMessage::to("mail").payload("{}"))
        .await?;
    let job = NewJob {
        kind: JobKind::Discard,
        filter: Filter {
            destination: Some("billing".to_owned()),
            reason: Some(DeadReason::Permanent),
            error: Some("422".to_owned()),
            ..Filter::default()
        },
        ..new(0)
    };
    let made = subject.desk.create_job(&job, &act()).await?;
    same!(made.filter.error, job.filter.error, "the filter as it is kept");
    same!(decided(&subject).await?, Decision::Release(3), "the first step");
    same!(decided(&subject).await?, Decision::Finish, "the second");
    for id in letters {
        same!(
            subject.status(id).await?,
            Status::Discarded,
            "the status of what matched"
        );
    }
    same!(
        subject.status(mail).await?,
        Status::DeadLettered,
        "the status of the other"
    );
    Ok(())
}

pub(super) async fn s229_without_a_canary_all_come_in_batches(factory: &dyn Factory) -> Outcome {
    let subject = Subject::fresh(factory, 2).await?;
    let letter = DeadLetter {
        message: message(),
        reason: DeadReason::Permanent,
        error: String::new(),
        attempts: 1,
    };
    let count = JOB_BATCH + 100;
    subject.desk.import(&vec![letter; count], &act()).await?;
    subject.desk.create_job(&new(0), &act()).await?;
    same!(
        decided(&subject).await?,
        Decision::Release(JOB_BATCH),
        "the first batch"
    );
    same!(decided(&subject).await?, Decision::Release(100), "the second");
    same!(decided(&subject).await?, Decision::Wait, "then");
    same!(left(&subject).await?, 0, "dead letters that are left");
    Ok(())
}

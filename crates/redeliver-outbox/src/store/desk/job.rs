//! Jobs: all of them that is no statement.

use std::time::Duration;

use serde_json::json;

use crate::{
    MessageId,
    desk::{Act, Filter, Job, JobStep, NewJob, Page},
    job::{self, Decision, Excused, JobKind, JobPlan, JobState, Judged, NoJobWord, Tally},
    limits::{JOB_LEASE, JOB_WINDOW},
    millis_up,
    store::{
        Result, StoreError, StoreErrorKind, WorkerId,
        columns::{Columns, Known as _},
    },
};

/// A row of `jobs.sql`, `job.sql`, `lock_job.sql` and `due_job.sql`.
pub(in crate::store) fn job(row: &mut dyn Columns) -> Result<Job> {
    let strange = |error: NoJobWord| unreadable().caused_by(error);
    Ok(Job {
        id: row.number()?,
        kind: row.known_text()?.parse().map_err(strange)?,
        filter: Filter::from_json(&row.known_text()?).map_err(|error| unreadable().caused_by(error))?,
        act: Act {
            who: row.known_text()?,
            why: row.known_text()?,
        },
        state: row.known_text()?.parse().map_err(strange)?,
        plan: JobPlan {
            canary: row.count()?,
            factor: row.count()?,
            interval: Duration::from_millis(row.count()?),
            stop_permille: row.count()?,
        },
        tally: Tally {
            matched: row.count()?,
            released: row.count()?,
            delivered: row.count()?,
            failing: row.count()?,
            failed: row.count()?,
        },
        wave: row.count()?,
        exhausted: row.flag()?,
        reached: row.number()?,
        looked: row.number()?,
        excused: Excused {
            until: row.number()?,
            tally: Tally {
                matched: 0,
                released: row.count()?,
                delivered: row.count()?,
                failing: row.count()?,
                failed: row.count()?,
            },
        },
        created_at: row.known_time()?,
        updated_at: row.known_time()?,
        next_step_at: row.known_time()?,
        runner: row.text()?,
        note: row.known_text()?,
    })
}

fn unreadable() -> StoreError {
    let what = "the table of jobs holds a job that this program cannot read";
    StoreError::new(StoreErrorKind::TooNew, what).next("run the newer redeliver that made it")
}

/// Refuses a job that could not be done, and cuts its filter to dead letters.
pub(in crate::store) fn check(new: &NewJob) -> Result<NewJob> {
    let wrong = |what: String| StoreError::new(StoreErrorKind::BadInput, what);
    new.plan
        .validate()
        .map_err(|invalid| wrong(format!("the job's plan: {invalid}")))?;
    let Some((filter, _)) = super::dead_letters(&new.filter, 1) else {
        let what = "a job is for dead letters, and the filter asks for others".to_owned();
        return Err(wrong(what).next("leave the status out"));
    };
    Ok(NewJob {
        filter,
        ..new.clone()
    })
}

/// How many a new job is for.
pub(in crate::store) fn matched(new: &NewJob, matching: u64) -> u64 {
    new.at_most.map_or(matching, |most| most.min(matching))
}

/// The state that a new job begins in.
pub(in crate::store) fn first_state(new: &NewJob) -> JobState {
    job::resumed(&new.plan, &Tally::default())
}

/// What the audit calls the making of a job.
pub(in crate::store) const fn action(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Discard => "discard_job",
        _ => "redrive_job",
    }
}

/// What the audit says of a new job.
pub(in crate::store) fn made(id: i64, new: &NewJob, matched: u64) -> String {
    json!({
        "job": id,
        "matched": matched,
        "filter": new.filter.to_json(),
        "canary": new.plan.canary,
        "factor": new.plan.factor,
        "interval_ms": millis_up(new.plan.interval),
        "stop_permille": new.plan.stop_permille,
    })
    .to_string()
}

/// What the audit says of anything else that is done to a job, or by it.
pub(in crate::store) fn of_job(id: i64) -> String {
    json!({ "job": id }).to_string()
}

/// There is none with this number.
pub(in crate::store) fn none(id: i64) -> StoreError {
    let what = format!("there is no job {id}");
    StoreError::new(StoreErrorKind::NotFound, what).next("look for it in the list of jobs")
}

/// What has become of a message: a row of `job_waiting.sql` or `job_failing.sql`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Outcome {
    pub(in crate::store) number: i64,
    pub(in crate::store) outcome: String,
}

pub(in crate::store) fn outcome(row: &mut dyn Columns) -> Result<Outcome> {
    Ok(Outcome {
        number: row.number()?,
        outcome: row.known_text()?,
    })
}

/// What has changed since the last step, to be written to the messages of the job; its tally tells it already.
#[derive(Debug, Default)]
pub(in crate::store) struct Changes {
    pub(in crate::store) failing: Vec<i64>,
    pub(in crate::store) failed: Vec<i64>,
    pub(in crate::store) delivered: Vec<i64>,
}

impl Changes {
    /// Each outcome and the messages that have it now, those only that have changed.
    pub(in crate::store) fn each(&self) -> impl Iterator<Item = (&'static str, &[i64])> {
        let all = [
            ("failing", self.failing.as_slice()),
            ("failed", self.failed.as_slice()),
            ("delivered", self.delivered.as_slice()),
        ];
        all.into_iter().filter(|(_, numbers)| !numbers.is_empty())
    }
}

/// Counts what has become of messages that were waiting, and of some that were failing; `look` is how many of these were asked for.
pub(in crate::store) fn recount(
    job: &mut Job,
    waiting: &[Outcome],
    failing: &[Outcome],
    look: usize,
) -> Changes {
    let mut changes = Changes::default();
    let known = waiting.iter().map(|message| (message, false));
    for (message, was_failing) in known.chain(failing.iter().map(|message| (message, true))) {
        let list = match message.outcome.as_str() {
            "failing" if !was_failing => &mut changes.failing,
            "failed" => &mut changes.failed,
            "delivered" => &mut changes.delivered,
            _ => continue,
        };
        list.push(message.number);
        note(&mut job.tally, &message.outcome, was_failing);
        if message.number <= job.excused.until {
            note(&mut job.excused.tally, &message.outcome, was_failing);
        }
    }
    // Round and round, so that each has its turn.
    job.looked = match failing.last() {
        Some(last) if failing.len() >= look => last.number,
        _ => 0,
    };
    changes
}

fn note(tally: &mut Tally, outcome: &str, was_failing: bool) {
    let count = match outcome {
        "failing" => &mut tally.failing,
        "failed" => &mut tally.failed,
        _ => &mut tally.delivered,
    };
    *count += 1;
    tally.failing -= u64::from(was_failing && tally.failing > 0);
}

/// How many of those that a job let out last have an outcome: a row of `job_lately.sql`.
pub(in crate::store) fn lately(row: &mut dyn Columns) -> Result<(String, u64)> {
    Ok((row.known_text()?, row.count()?))
}

/// What the job is judged by, with the rows of `job_lately.sql`.
pub(in crate::store) fn judged(job: &Job, outcomes: &[(String, u64)]) -> Judged {
    let mut lately = Tally::default();
    for (outcome, count) in outcomes {
        lately.released += count;
        match outcome.as_str() {
            "failing" => lately.failing += count,
            "failed" => lately.failed += count,
            _ => lately.delivered += count,
        }
    }
    Judged {
        all: job.tally.but(&job.excused),
        lately,
    }
}

/// What the job does next.
pub(in crate::store) fn decision(job: &Job, judged: &Judged) -> Decision {
    match job::decide(&job.plan, job.state, judged, job.wave, job.exhausted) {
        // What is excused has an outcome too, in the end.
        Decision::Finish if job.tally.waiting() > 0 => Decision::Wait,
        decision => decision,
    }
}

/// Where the next dead letters of a job are looked for, from the first one behind those that it has passed; nowhere if there is none. A
/// step looks no further, however rare they are: it would hold its locks for as long as that takes.
pub(in crate::store) fn window(nearest: Option<i64>, limit: usize) -> Option<Page> {
    let first = nearest?;
    Some(Page {
        after: Some(first - 1),
        until: Some(first.saturating_add(JOB_WINDOW - 1)),
        limit,
        newest_first: false,
    })
}

/// Notes what was let out: how many were wanted, where they were looked for, those that were found, and those that were free. Whether there
/// are more is to be asked behind the window if not all were found.
pub(in crate::store) fn released(
    job: &mut Job,
    wanted: usize,
    window: Option<Page>,
    found: &[MessageId],
    free: &[MessageId],
) {
    job.tally.released += free.len() as u64;
    if job.kind == JobKind::Discard {
        job.tally.delivered += free.len() as u64;
    }
    // It grows by what it has let out, not by what it would have.
    if !found.is_empty() {
        job.wave = found.len() as u64;
    }
    let end = window.and_then(|window| window.until);
    let last = found.last().map(|last| last.number());
    let reached = if found.len() < wanted { end } else { last };
    job.reached = reached.unwrap_or(job.reached);
}

/// The job after a step, and how long until the next.
pub(in crate::store) fn stepped(
    mut job: Job,
    decision: Decision,
    judged: &Judged,
    out: &[MessageId],
    worker: &WorkerId,
) -> JobStep {
    let tally = job.tally;
    let mut next = Some(job.plan.interval);
    job.runner = Some(worker.0.clone());
    // Nothing was there to let out, in the window that it looked at: no news, and no reason to wait.
    let looks_on = matches!(decision, Decision::Release(_)) && out.is_empty() && !job.exhausted;
    let decision = if looks_on { Decision::Wait } else { decision };
    match decision {
        Decision::Wait if looks_on => {
            next = Some(Duration::ZERO);
            let (released, matched, reached) = (tally.released, tally.matched, job.reached);
            job.note = format!("{released} of {matched} are out; looked through to number {reached}");
        }
        Decision::Wait => {
            job.note = match tally.waiting() {
                0 => "nothing to do yet".to_owned(),
                waiting => format!("waits for what becomes of {waiting}"),
            };
        }
        Decision::Release(_) => {
            let released = tally.but(&job.excused).released;
            if released > u64::from(job.plan.canary) || job.state != JobState::Canary {
                job.state = JobState::Ramping;
            }
            if job.plan.canary == 0 {
                next = Some(Duration::ZERO);
            }
            job.note = format!("{} of {} are out", tally.released, tally.matched);
        }
        Decision::Stop => {
            job.state = JobState::Stopped;
            job.note = stopped(&job, judged);
        }
        Decision::Finish => {
            job.state = JobState::Done;
            job.note = finished(&tally);
        }
    }
    if job.state.is_over() {
        job.runner = None;
        next = None;
    }
    JobStep { job, decision, next }
}

fn stopped(job: &Job, judged: &Judged) -> String {
    let against = judged.too_many(&job.plan).unwrap_or(&judged.all);
    let last = match against == &judged.all {
        true => "",
        false => "the last ",
    };
    format!(
        "stopped by itself: {} of {last}{} failed, more than {} %; {} were not let out",
        against.in_vain(),
        against.decided(),
        job.plan.stop_percent(),
        job.tally.matched.saturating_sub(job.tally.released)
    )
}

fn finished(tally: &Tally) -> String {
    let mut note = format!("done: {} of {} arrived", tally.delivered, tally.released);
    if tally.failing > 0 {
        note.push_str(&format!(", {} are being retried", tally.failing));
    }
    if tally.failed > 0 {
        note.push_str(&format!(", {} are dead again", tally.failed));
    }
    let missed = tally.matched.saturating_sub(tally.released);
    if missed > 0 {
        note.push_str(&format!("; {missed} were no dead letters any more"));
    }
    note
}

/// How long a job stays with the process that stepped it.
pub(in crate::store) fn lease_millis(step: &JobStep) -> i64 {
    millis_up(step.next.unwrap_or_default() + JOB_LEASE)
}

/// Who stopped a job by itself, for the audit.
pub(in crate::store) fn by_itself(worker: &WorkerId, job: &Job) -> Act {
    Act {
        who: worker.0.clone(),
        why: job.note.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn outcomes(first: i64, words: &[&str]) -> Vec<Outcome> {
        let outcome = |(number, word): (i64, &&str)| Outcome {
            number,
            outcome: (*word).to_owned(),
        };
        (first..).zip(words).map(outcome).collect()
    }

    #[test]
    fn outcomes_are_counted_once_and_failing_ones_again_in_turn() {
        let mut job = Job {
            id: 1,
            kind: JobKind::Redrive,
            filter: Filter::default(),
            act: Act {
                who: String::new(),
                why: String::new(),
            },
            state: JobState::Ramping,
            plan: JobPlan::default(),
            tally: Tally {
                released: 10,
                failing: 3,
                ..Tally::default()
            },
            wave: 5,
            exhausted: false,
            reached: 10,
            looked: 0,
            excused: Excused::default(),
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            next_step_at: Timestamp::default(),
            runner: None,
            note: String::new(),
        };
        let waiting = outcomes(1, &["waiting", "failing", "failed", "delivered"]);
        let failing = outcomes(5, &["failing", "failed", "delivered"]);
        let changes = recount(&mut job, &waiting, &failing, 3);
        let tally = job.tally;
        assert_eq!(
            (tally.failing, tally.failed, tally.delivered, tally.waiting()),
            (2, 2, 2, 4)
        );
        assert_eq!(
            (changes.failing, changes.failed, changes.delivered),
            (vec![2], vec![3, 6], vec![4, 7])
        );
        assert_eq!(job.looked, 7, "the next look begins behind the last one");
        recount(&mut job, &[], &outcomes(8, &["failing"]), 3);
        assert_eq!(job.looked, 0, "and at the beginning, after the end");
        job.excused = Excused {
            until: 8,
            tally: Tally {
                released: 8,
                ..job.tally
            },
        };
        recount(&mut job, &outcomes(8, &["failed", "failed", "delivered"]), &[], 3);
        let judged = job.tally.but(&job.excused);
        assert_eq!((judged.released, judged.failed, judged.delivered), (2, 1, 1));
    }
}

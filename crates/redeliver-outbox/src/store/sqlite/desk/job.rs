//! Jobs.

use futures_core::future::BoxFuture;

use super::{Done, Purpose, Session, SqliteStore, audit, look, rescue, row};
use crate::{
    MessageId,
    desk::{Act, Job, JobStep, NewJob},
    job::Decision,
    limits::{JOB_BACKLOG, JOB_DUE, JOB_LATELY, JOB_LOOK, JOB_RETRY_LATEST, JOB_RETRY_SOONEST},
    millis_up,
    store::{
        Result, WorkerId,
        columns::Known as _,
        desk::{chain::Said, job, rival, steps::Steps, turn::Turn},
    },
};

pub(super) fn create(session: &Session<'_>, new: &NewJob, act: &Act) -> Done<Job> {
    let new = job::check(new)?;
    let matched = job::matched(&new, look::count(session, &new.filter)?);
    let values = (
        new.kind.as_str(),
        new.filter.to_json().to_string(),
        &act.who,
        &act.why,
        job::first_state(&new).as_str(),
        new.plan.canary,
        new.plan.factor,
        millis_up(new.plan.interval),
        new.plan.stop_permille,
        matched.cast_signed(),
        session.now.as_millis(),
    );
    session.execute(include_str!("../sql/insert_job.sql"), values)?;
    let id = session.transaction.last_insert_rowid();
    let detail = job::made(id, &new, matched);
    audit::append(session, act, job::action(new.kind), None, &detail)?;
    let values = (new.kind.as_str(), id);
    let rivals = session.read(include_str!("../sql/job_rivals.sql"), values, rival::rival)?;
    rival::refuse_second(&new, &rivals)?;
    Ok(one(session, id)?.ok_or_else(|| job::none(id))?)
}

pub(super) fn newest(session: &Session<'_>, limit: usize) -> Done<Vec<Job>> {
    session.read(include_str!("../sql/jobs.sql"), [row::limit(limit)], job::job)
}

pub(super) fn one(session: &Session<'_>, id: i64) -> Done<Option<Job>> {
    Ok(session
        .read(include_str!("../sql/job.sql"), [id], job::job)?
        .pop())
}

pub(super) fn turn(session: &Session<'_>, turn: Turn, id: i64, act: &Act) -> Done<Job> {
    let job = turn.of(id, one(session, id)?, act)?;
    save(session, &job, 0, 0)?;
    audit::append(session, act, turn.action(), None, &job::of_job(id))?;
    Ok(one(session, id)?.ok_or_else(|| job::none(id))?)
}

/// Looked for first: the one writer is not kept from its work for nothing.
impl Steps for SqliteStore {
    fn due<'a>(&'a self, worker: &'a WorkerId, only: Option<i64>) -> BoxFuture<'a, Result<Vec<i64>>> {
        let worker = worker.clone();
        self.run(Purpose::Read, move |session| {
            let values = (session.now.as_millis(), &worker.0, only, row::limit(JOB_DUE));
            session.read(include_str!("../sql/due_jobs.sql"), values, |row| row.number())
        })
    }

    fn step<'a>(&'a self, worker: &'a WorkerId, job: i64) -> BoxFuture<'a, Result<Option<JobStep>>> {
        let worker = worker.clone();
        self.run(Purpose::Write, move |session| step(session, &worker, job))
    }

    fn put_off<'a>(&'a self, job: i64, note: &'a str) -> BoxFuture<'a, Result<()>> {
        let note = note.to_owned();
        self.run(Purpose::Write, move |session| {
            let (soonest, latest) = (millis_up(JOB_RETRY_SOONEST), millis_up(JOB_RETRY_LATEST));
            let values = (job, session.now.as_millis(), soonest, latest, note);
            session.execute(include_str!("../sql/put_off_job.sql"), values)?;
            Ok(())
        })
    }
}

fn step(session: &Session<'_>, worker: &WorkerId, id: i64) -> Done<Option<JobStep>> {
    let values = (session.now.as_millis(), &worker.0, id);
    let due = session.read(include_str!("../sql/due_job.sql"), values, job::job)?;
    let Some(mut job) = due.into_iter().next() else {
        return Ok(None);
    };
    recount(session, &mut job)?;
    let values = (job.id, job.excused.until, row::limit(JOB_LATELY));
    let lately = session.read(include_str!("../sql/job_lately.sql"), values, job::lately)?;
    let judged = job::judged(&job, &lately);
    let decision = job::decision(&job, &judged);
    let mut out = Vec::new();
    if let Decision::Release(count) = decision {
        out = release(session, &mut job, count)?;
    }
    let step = job::stepped(job, decision, &judged, &out, worker);
    let job = &step.job;
    let wait = millis_up(step.next.unwrap_or_default());
    save(session, job, wait, job::lease_millis(&step))?;
    let detail = job::of_job(job.id);
    let said = Said::of_each(job.kind.as_str(), &out, &detail);
    audit::append_all(session, &job.act, &said)?;
    if decision == Decision::Stop {
        audit::append(session, &job::by_itself(worker, job), "stop_job", None, &detail)?;
    }
    Ok(Some(step))
}

fn release(session: &Session<'_>, job: &mut Job, count: usize) -> Done<Vec<MessageId>> {
    let window = job::window(next(session, job)?, count);
    let found = match window {
        Some(window) => rescue::dead_letters(session, &job.filter, window)?,
        None => Vec::new(),
    };
    let out = rescue::change(session, job.kind, &found)?;
    let mut noted = out.clone();
    noted.dedup_by_key(|id| id.number());
    for id in &noted {
        let values = (job.id, id.number(), id.salt());
        session.execute(include_str!("../sql/note_job_message.sql"), values)?;
    }
    job::released(job, count, window, &found, &out);
    if found.len() < count {
        job.exhausted = next(session, job)?.is_none();
    }
    Ok(out)
}

/// The next dead letter that it has not passed, whether it matches or not.
fn next(session: &Session<'_>, job: &Job) -> Done<Option<i64>> {
    look::nearest(session, &job.filter, Some(job.reached), false)
}

fn recount(session: &Session<'_>, job: &mut Job) -> Done<()> {
    let values = (job.id, row::limit(JOB_BACKLOG + crate::limits::JOB_BATCH));
    let waiting = session.read(include_str!("../sql/job_waiting.sql"), values, job::outcome)?;
    let values = (job.id, job.looked, row::limit(JOB_LOOK));
    let failing = session.read(include_str!("../sql/job_failing.sql"), values, job::outcome)?;
    let changes = job::recount(job, &waiting, &failing, JOB_LOOK);
    for (outcome, numbers) in changes.each() {
        for number in numbers {
            let values = (job.id, number, outcome);
            session.execute(include_str!("../sql/settle_job_message.sql"), values)?;
        }
    }
    Ok(())
}

fn save(session: &Session<'_>, job: &Job, wait: i64, lease: i64) -> Done<()> {
    let values = rusqlite::params![
        job.id,
        job.state.as_str(),
        job.tally.released.cast_signed(),
        job.tally.delivered.cast_signed(),
        job.tally.failing.cast_signed(),
        job.tally.failed.cast_signed(),
        job.wave.cast_signed(),
        job.exhausted,
        job.reached,
        job.looked,
        job.excused.until,
        job.excused.tally.released.cast_signed(),
        job.excused.tally.delivered.cast_signed(),
        job.excused.tally.failing.cast_signed(),
        job.excused.tally.failed.cast_signed(),
        job.runner,
        job.note,
        session.now.as_millis(),
        wait,
        lease,
    ];
    session.execute(include_str!("../sql/save_job.sql"), values)?;
    Ok(())
}

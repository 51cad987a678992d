//! Jobs.

use futures_core::future::BoxFuture;
use mysql_async::{Params, Value};

use super::{MySqlStore, Work, audit, look, rescue, row};
use crate::{
    MessageId,
    desk::{Act, Job, JobStep, NewJob},
    job::Decision,
    limits::{
        JOB_BACKLOG, JOB_BATCH, JOB_DUE, JOB_LATELY, JOB_LOOK, JOB_RETRY_LATEST, JOB_RETRY_SOONEST,
        MYSQL_NAMED_ROWS,
    },
    millis_up,
    store::{
        Result, WorkerId,
        columns::Known as _,
        desk::{chain::Said, job, rival, steps::Steps, turn::Turn},
    },
};

pub(super) async fn create(store: &MySqlStore, new: &NewJob, act: &Act) -> Result<Job> {
    let new = job::check(new)?;
    let matched = job::matched(&new, look::count(store, &new.filter).await?);
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let values = (
        new.kind.as_str(),
        new.filter.to_json().to_string(),
        act.who.as_str(),
        act.why.as_str(),
        job::first_state(&new).as_str(),
        new.plan.canary,
        new.plan.factor,
        millis_up(new.plan.interval),
        new.plan.stop_permille,
        matched,
    );
    work.run(include_str!("../sql/insert_job.sql"), values).await?;
    let id = work
        .transaction
        .last_insert_id()
        .unwrap_or_default()
        .cast_signed();
    let job = one(&mut work, id).await?;
    let detail = job::made(id, &new, matched);
    audit::append(&mut work, act, job::action(new.kind), None, &detail).await?;
    let others = (new.kind.as_str(), id);
    let statement = include_str!("../sql/job_rivals.sql");
    rival::refuse_second(&new, &work.read(statement, others, rival::rival).await?)?;
    work.commit().await?;
    job.ok_or_else(|| job::none(id))
}

pub(super) async fn newest(work: &mut Work<'_>, limit: usize) -> Result<Vec<Job>> {
    work.read(include_str!("../sql/jobs.sql"), (limit,), job::job)
        .await
}

pub(super) async fn one(work: &mut Work<'_>, id: i64) -> Result<Option<Job>> {
    let found = work.read(include_str!("../sql/job.sql"), (id,), job::job).await?;
    Ok(found.into_iter().next())
}

pub(super) async fn turn(store: &MySqlStore, turn: Turn, id: i64, act: &Act) -> Result<Job> {
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let statement = include_str!("../sql/lock_job.sql");
    let found = work.read(statement, (id,), job::job).await?;
    let job = turn.of(id, found.into_iter().next(), act)?;
    save(&mut work, &job, 0, 0).await?;
    let job = one(&mut work, id).await?;
    audit::append(&mut work, act, turn.action(), None, &job::of_job(id)).await?;
    work.commit().await?;
    job.ok_or_else(|| job::none(id))
}

impl Steps for MySqlStore {
    fn due<'a>(&'a self, worker: &'a WorkerId, only: Option<i64>) -> BoxFuture<'a, Result<Vec<i64>>> {
        Box::pin(self.limited(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            let (any, id) = (only.is_none(), only.unwrap_or_default());
            let due = (worker.0.as_str(), any, id, JOB_DUE);
            work.read(include_str!("../sql/due_jobs.sql"), due, |row| row.number())
                .await
        }))
    }

    fn step<'a>(&'a self, worker: &'a WorkerId, job: i64) -> BoxFuture<'a, Result<Option<JobStep>>> {
        Box::pin(self.limited(step(self, worker, job)))
    }

    fn put_off<'a>(&'a self, job: i64, note: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.limited(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::begin(self, &mut connection).await?;
            let (soonest, latest) = (millis_up(JOB_RETRY_SOONEST), millis_up(JOB_RETRY_LATEST));
            let values = (soonest, latest, note, job);
            work.run(include_str!("../sql/put_off_job.sql"), values).await?;
            work.commit().await
        }))
    }
}

async fn step(store: &MySqlStore, worker: &WorkerId, id: i64) -> Result<Option<JobStep>> {
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let due = (id, worker.0.as_str());
    let found = work
        .read(include_str!("../sql/due_job.sql"), due, job::job)
        .await?;
    let Some(job) = found.into_iter().next() else {
        work.abandon().await?;
        return Ok(None);
    };
    let step = step_one(&mut work, worker, job).await?;
    work.commit().await?;
    Ok(Some(step))
}

async fn step_one(work: &mut Work<'_>, worker: &WorkerId, mut job: Job) -> Result<JobStep> {
    recount(work, &mut job).await?;
    let values = (job.id, job.excused.until, JOB_LATELY);
    let statement = include_str!("../sql/job_lately.sql");
    let judged = job::judged(&job, &work.read(statement, values, job::lately).await?);
    let decision = job::decision(&job, &judged);
    let mut out = Vec::new();
    if let Decision::Release(count) = decision {
        out = release(work, &mut job, count).await?;
    }
    let step = job::stepped(job, decision, &judged, &out, worker);
    let job = &step.job;
    let wait = millis_up(step.next.unwrap_or_default());
    save(work, job, wait, job::lease_millis(&step)).await?;
    let detail = job::of_job(job.id);
    let said = Said::of_each(job.kind.as_str(), &out, &detail);
    audit::append_all(work, &job.act, &said).await?;
    if decision == Decision::Stop {
        audit::append(work, &job::by_itself(worker, job), "stop_job", None, &detail).await?;
    }
    Ok(step)
}

async fn release(work: &mut Work<'_>, job: &mut Job, count: usize) -> Result<Vec<MessageId>> {
    let window = job::window(next(work, job).await?, count);
    let found = match window {
        Some(window) => look::list(work, &job.filter, window, false).await?,
        None => Vec::new(),
    };
    let found: Vec<MessageId> = found.into_iter().map(|letter| letter.id).collect();
    let out = rescue::change(work, job.kind, &job.filter, &found).await?;
    for some in out.chunks(MYSQL_NAMED_ROWS) {
        let mut noted = some.to_vec();
        noted.sort_unstable();
        noted.dedup_by_key(|id| id.number());
        let ids = row::ids(&noted);
        let values = (job.id, ids.clone(), job.id, ids);
        work.run(include_str!("../sql/note_job_message.sql"), values)
            .await?;
    }
    job::released(job, count, window, &found, &out);
    if found.len() < count {
        job.exhausted = next(work, job).await?.is_none();
    }
    Ok(out)
}

/// The next dead letter that it has not passed, whether it matches or not.
async fn next(work: &mut Work<'_>, job: &Job) -> Result<Option<i64>> {
    look::nearest(work, &job.filter, Some(job.reached), false).await
}

async fn recount(work: &mut Work<'_>, job: &mut Job) -> Result<()> {
    let values = (job.id, JOB_BACKLOG + JOB_BATCH);
    let statement = include_str!("../sql/job_waiting.sql");
    let waiting = work.read(statement, values, job::outcome).await?;
    let values = (job.id, job.looked, JOB_LOOK);
    let statement = include_str!("../sql/job_failing.sql");
    let failing = work.read(statement, values, job::outcome).await?;
    let changes = job::recount(job, &waiting, &failing, JOB_LOOK);
    for (outcome, numbers) in changes.each() {
        for some in numbers.chunks(MYSQL_NAMED_ROWS) {
            let values = (row::list(some), job.id, outcome);
            work.run(include_str!("../sql/settle_job_message.sql"), values)
                .await?;
        }
    }
    Ok(())
}

async fn save(work: &mut Work<'_>, job: &Job, wait: i64, lease: i64) -> Result<()> {
    let values: Vec<Value> = vec![
        job.state.as_str().into(),
        job.tally.released.into(),
        job.tally.delivered.into(),
        job.tally.failing.into(),
        job.tally.failed.into(),
        job.wave.into(),
        job.exhausted.into(),
        job.reached.into(),
        job.looked.into(),
        job.excused.until.into(),
        job.excused.tally.released.into(),
        job.excused.tally.delivered.into(),
        job.excused.tally.failing.into(),
        job.excused.tally.failed.into(),
        job.runner.as_deref().into(),
        job.note.as_str().into(),
        wait.into(),
        lease.into(),
        job.id.into(),
    ];
    work.run(include_str!("../sql/save_job.sql"), Params::Positional(values))
        .await?;
    Ok(())
}

//! Jobs.

use futures_core::future::BoxFuture;
use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, PostgresStore, Result, Session, audit, look, rescue, row, value};
use crate::{
    MessageId,
    desk::{Act, Job, JobStep, NewJob},
    job::Decision,
    limits::{JOB_BACKLOG, JOB_BATCH, JOB_DUE, JOB_LATELY, JOB_LOOK, JOB_RETRY_LATEST, JOB_RETRY_SOONEST},
    millis_up,
    store::{
        WorkerId,
        columns::Known as _,
        desk::{chain::Said, job, rival, steps::Steps, turn::Turn},
    },
};

pub(super) async fn create(inner: &Inner, new: &NewJob, act: &Act) -> Result<Job> {
    let new = job::check(new)?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let matched = job::matched(&new, look::count(&session, &new.filter).await?);
    let (kind, state) = (new.kind.as_str(), job::first_state(&new).as_str());
    let filter = new.filter.to_json().to_string();
    let (canary, factor) = (i64::from(new.plan.canary), i64::from(new.plan.factor));
    let (interval, stop) = (millis_up(new.plan.interval), i64::from(new.plan.stop_permille));
    let count = matched.cast_signed();
    let parameters: [Parameter<'_>; 10] = [
        (&kind, Type::TEXT),
        (&filter, Type::TEXT),
        (&act.who, Type::TEXT),
        (&act.why, Type::TEXT),
        (&state, Type::TEXT),
        (&canary, Type::INT8),
        (&factor, Type::INT8),
        (&interval, Type::INT8),
        (&stop, Type::INT8),
        (&count, Type::INT8),
    ];
    let made = session
        .one(include_str!("../sql/insert_job.sql"), &parameters)
        .await?;
    let id: i64 = row::get(&made, 0)?;
    let job = one(&session, id).await?;
    let detail = job::made(id, &new, matched);
    audit::append(&session, act, job::action(new.kind), None, &detail).await?;
    let others: [Parameter<'_>; 2] = [(&kind, Type::TEXT), (&id, Type::INT8)];
    let statement = include_str!("../sql/job_rivals.sql");
    rival::refuse_second(&new, &session.read(statement, &others, rival::rival).await?)?;
    session.commit().await?;
    session.closed();
    job.ok_or_else(|| job::none(id))
}

pub(super) async fn newest(session: &Session<'_>, limit: usize) -> Result<Vec<Job>> {
    let limit = value::limit(limit);
    let statement = include_str!("../sql/jobs.sql");
    session.read(statement, &[(&limit, Type::INT8)], job::job).await
}

pub(super) async fn one(session: &Session<'_>, id: i64) -> Result<Option<Job>> {
    let statement = include_str!("../sql/job.sql");
    let found = session.read(statement, &[(&id, Type::INT8)], job::job).await?;
    Ok(found.into_iter().next())
}

pub(super) async fn turn(inner: &Inner, turn: Turn, id: i64, act: &Act) -> Result<Job> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let statement = include_str!("../sql/lock_job.sql");
    let found = session.read(statement, &[(&id, Type::INT8)], job::job).await?;
    let job = turn.of(id, found.into_iter().next(), act)?;
    save(&session, &job, 0, 0).await?;
    let job = one(&session, id).await?;
    audit::append(&session, act, turn.action(), None, &job::of_job(id)).await?;
    session.commit().await?;
    session.closed();
    job.ok_or_else(|| job::none(id))
}

impl Steps for PostgresStore {
    fn due<'a>(&'a self, worker: &'a WorkerId, only: Option<i64>) -> BoxFuture<'a, Result<Vec<i64>>> {
        Box::pin(self.0.limited(async move {
            let session = self.0.session().await?;
            let limit = value::limit(JOB_DUE);
            let due: [Parameter<'_>; 3] =
                [(&worker.0, Type::TEXT), (&only, Type::INT8), (&limit, Type::INT8)];
            let statement = include_str!("../sql/due_jobs.sql");
            session.read(statement, &due, |row| row.number()).await
        }))
    }

    fn step<'a>(&'a self, worker: &'a WorkerId, job: i64) -> BoxFuture<'a, Result<Option<JobStep>>> {
        Box::pin(self.0.limited(step(&self.0, worker, job)))
    }

    fn put_off<'a>(&'a self, job: i64, note: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.limited(async move {
            let session = self.0.session().await?;
            let (soonest, latest) = (millis_up(JOB_RETRY_SOONEST), millis_up(JOB_RETRY_LATEST));
            let parameters: [Parameter<'_>; 4] = [
                (&job, Type::INT8),
                (&soonest, Type::INT8),
                (&latest, Type::INT8),
                (&note, Type::TEXT),
            ];
            session
                .execute(include_str!("../sql/put_off_job.sql"), &parameters)
                .await?;
            Ok(())
        }))
    }
}

async fn step(inner: &Inner, worker: &WorkerId, id: i64) -> Result<Option<JobStep>> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let due: [Parameter<'_>; 2] = [(&worker.0, Type::TEXT), (&id, Type::INT8)];
    let found = session
        .read(include_str!("../sql/due_job.sql"), &due, job::job)
        .await?;
    let step = match found.into_iter().next() {
        Some(job) => Some(step_one(&session, worker, job).await?),
        None => None,
    };
    session.commit().await?;
    session.closed();
    Ok(step)
}

async fn step_one(session: &Session<'_>, worker: &WorkerId, mut job: Job) -> Result<JobStep> {
    recount(session, &mut job).await?;
    let judged = job::judged(&job, &lately(session, &job).await?);
    let decision = job::decision(&job, &judged);
    let mut out = Vec::new();
    if let Decision::Release(count) = decision {
        out = release(session, &mut job, count).await?;
    }
    let step = job::stepped(job, decision, &judged, &out, worker);
    let job = &step.job;
    let wait = millis_up(step.next.unwrap_or_default());
    save(session, job, wait, job::lease_millis(&step)).await?;
    let detail = job::of_job(job.id);
    let said = Said::of_each(job.kind.as_str(), &out, &detail);
    audit::append_all(session, &job.act, &said).await?;
    if decision == Decision::Stop {
        audit::append(session, &job::by_itself(worker, job), "stop_job", None, &detail).await?;
    }
    Ok(step)
}

async fn release(session: &Session<'_>, job: &mut Job, count: usize) -> Result<Vec<MessageId>> {
    let window = job::window(next(session, job).await?, count);
    let found = match window {
        Some(window) => look::list(session, &job.filter, window, false).await?,
        None => Vec::new(),
    };
    let out = rescue::change(session, job.kind, &job.filter, &found).await?;
    let free = found.iter().filter(|letter| out.contains(&letter.id));
    let (mut shards, mut numbers, mut salts) = (Vec::new(), Vec::new(), Vec::new());
    for letter in free {
        shards.push(value::shard(letter.shard));
        numbers.push(letter.id.number());
        salts.push(letter.id.salt());
    }
    let parameters: [Parameter<'_>; 4] = [
        (&job.id, Type::INT8),
        (&shards, Type::INT2_ARRAY),
        (&numbers, Type::INT8_ARRAY),
        (&salts, Type::INT8_ARRAY),
    ];
    session
        .execute(include_str!("../sql/note_job_message.sql"), &parameters)
        .await?;
    let found: Vec<MessageId> = found.iter().map(|letter| letter.id).collect();
    job::released(job, count, window, &found, &out);
    if found.len() < count {
        job.exhausted = next(session, job).await?.is_none();
    }
    Ok(out)
}

/// The next dead letter that it has not passed, whether it matches or not.
async fn next(session: &Session<'_>, job: &Job) -> Result<Option<i64>> {
    look::nearest(session, &job.filter, Some(job.reached), false).await
}

async fn recount(session: &Session<'_>, job: &mut Job) -> Result<()> {
    let (most, look) = (value::limit(JOB_BACKLOG + JOB_BATCH), value::limit(JOB_LOOK));
    let parameters: [Parameter<'_>; 2] = [(&job.id, Type::INT8), (&most, Type::INT8)];
    let statement = include_str!("../sql/job_waiting.sql");
    let waiting = session.read(statement, &parameters, job::outcome).await?;
    let parameters: [Parameter<'_>; 3] = [
        (&job.id, Type::INT8),
        (&job.looked, Type::INT8),
        (&look, Type::INT8),
    ];
    let statement = include_str!("../sql/job_failing.sql");
    let failing = session.read(statement, &parameters, job::outcome).await?;
    let changes = job::recount(job, &waiting, &failing, JOB_LOOK);
    for (outcome, numbers) in changes.each() {
        let parameters: [Parameter<'_>; 3] = [
            (&job.id, Type::INT8),
            (&numbers, Type::INT8_ARRAY),
            (&outcome, Type::TEXT),
        ];
        session
            .execute(include_str!("../sql/settle_job_message.sql"), &parameters)
            .await?;
    }
    Ok(())
}

async fn lately(session: &Session<'_>, job: &Job) -> Result<Vec<(String, u64)>> {
    let last = value::limit(JOB_LATELY);
    let parameters: [Parameter<'_>; 3] = [
        (&job.id, Type::INT8),
        (&job.excused.until, Type::INT8),
        (&last, Type::INT8),
    ];
    let statement = include_str!("../sql/job_lately.sql");
    session.read(statement, &parameters, job::lately).await
}

async fn save(session: &Session<'_>, job: &Job, wait: i64, lease: i64) -> Result<()> {
    let (tally, excused) = (&job.tally, &job.excused.tally);
    let counts = [
        tally.released,
        tally.delivered,
        tally.failing,
        tally.failed,
        job.wave,
        excused.released,
        excused.delivered,
        excused.failing,
        excused.failed,
    ]
    .map(u64::cast_signed);
    let state = job.state.as_str();
    let parameters: [Parameter<'_>; 19] = [
        (&job.id, Type::INT8),
        (&state, Type::TEXT),
        (&counts[0], Type::INT8),
        (&counts[1], Type::INT8),
        (&counts[2], Type::INT8),
        (&counts[3], Type::INT8),
        (&counts[4], Type::INT8),
        (&job.exhausted, Type::BOOL),
        (&job.reached, Type::INT8),
        (&job.looked, Type::INT8),
        (&job.excused.until, Type::INT8),
        (&counts[5], Type::INT8),
        (&counts[6], Type::INT8),
        (&counts[7], Type::INT8),
        (&counts[8], Type::INT8),
        (&job.runner, Type::TEXT),
        (&job.note, Type::TEXT),
        (&wait, Type::INT8),
        (&lease, Type::INT8),
    ];
    session
        .execute(include_str!("../sql/save_job.sql"), &parameters)
        .await?;
    Ok(())
}

//! The operator's side.

use futures_core::future::BoxFuture;

use super::{MySqlStore, Work, row};
use crate::{
    Held, Hold, MessageId, NewMessage, Timestamp,
    desk::{
        Act, AuditMark, AuditStep, DeadLetter, Desk, Detail, Edit, Enqueued, Filter, Finding, Job, JobDesk,
        JobStep, MessageRef, NewJob, Page, Parked, Record, Removed, Replay, Replayed, ResumedLane, Retention,
        Seen, SeenLane, StatusReport, WorkerRecord,
    },
    job::JobKind,
    store::{
        LaneId, Result, WorkerId,
        desk::{hold::by_hand, steps, turn::Turn},
    },
};

mod audit;
mod edit;
mod enqueue;
mod examine;
pub(super) mod hold;
pub(super) mod issues;
mod job;
mod lane;
mod lanes;
mod look;
mod overview;
mod replay;
mod rescue;
mod retain;
mod status;
mod storage;

impl Desk for MySqlStore {
    fn enqueue<'a>(&'a self, messages: &'a [NewMessage]) -> BoxFuture<'a, Result<Vec<Enqueued>>> {
        Box::pin(enqueue::enqueue(self, messages))
    }

    fn status(&self) -> BoxFuture<'_, Result<StatusReport>> {
        Box::pin(status::status(self))
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        page: Page,
        payloads: bool,
    ) -> BoxFuture<'a, Result<Vec<Record>>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            look::list(&mut work, filter, page, payloads).await
        })
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<u64>> {
        Box::pin(look::count(self, filter))
    }

    fn find(&self, message: MessageRef) -> BoxFuture<'_, Result<Option<Detail>>> {
        Box::pin(look::find(self, message))
    }

    fn edit<'a>(&'a self, message: MessageRef, edit: &'a Edit, act: &'a Act) -> BoxFuture<'a, Result<()>> {
        Box::pin(edit::edit(self, message, edit, act))
    }

    fn newest_acts<'a>(&'a self, messages: &'a [MessageId]) -> BoxFuture<'a, Result<Vec<u64>>> {
        Box::pin(audit::newest_acts(self, messages))
    }

    fn redrive<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(rescue::rescue(self, JobKind::Redrive, filter, at_most, act))
    }

    fn discard<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(rescue::rescue(self, JobKind::Discard, filter, at_most, act))
    }

    fn rescue<'a>(
        &'a self,
        way: JobKind,
        letter: MessageId,
        seen: Seen,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(rescue::one(self, way, letter, seen, act))
    }

    fn import<'a>(
        &'a self,
        letters: &'a [DeadLetter],
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(enqueue::import(self, letters, act))
    }

    fn record_import<'a>(&'a self, detail: &'a str, act: &'a Act) -> BoxFuture<'a, Result<()>> {
        Box::pin(audit::record(self, act, "import", detail))
    }

    fn replay<'a>(
        &'a self,
        replay: &'a Replay,
        after: i64,
        act: Option<&'a Act>,
    ) -> BoxFuture<'a, Result<Replayed>> {
        Box::pin(replay::replay(self, replay, after, act))
    }

    fn reveal<'a>(&'a self, messages: &'a [MessageId], act: &'a Act) -> BoxFuture<'a, Result<()>> {
        Box::pin(audit::reveal(self, messages, act))
    }

    fn pause<'a>(&'a self, destination: &'a str, act: &'a Act) -> BoxFuture<'a, Result<Held>> {
        Box::pin(async move {
            let new = by_hand(destination, act)?;
            hold::begin(self, &new, act).await
        })
    }

    fn resume<'a>(
        &'a self,
        destination: &'a str,
        seen: Option<Timestamp>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<Hold>>> {
        Box::pin(hold::end(self, destination, seen, act))
    }

    fn holds(&self) -> BoxFuture<'_, Result<Vec<Hold>>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            hold::all(&mut work).await
        })
    }

    fn workers(&self) -> BoxFuture<'_, Result<Vec<WorkerRecord>>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            hold::workers(&mut work).await
        })
    }

    fn park_lane<'a>(&'a self, lane: &'a LaneId, act: &'a Act) -> BoxFuture<'a, Result<Parked>> {
        Box::pin(lane::park(self, lane, act))
    }

    fn resume_lane<'a>(
        &'a self,
        lane: &'a LaneId,
        seen: Option<SeenLane>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<ResumedLane>>> {
        Box::pin(lane::resume(self, lane, seen, act))
    }

    fn parked_lanes(&self) -> BoxFuture<'_, Result<Vec<(LaneId, MessageId, Timestamp)>>> {
        Box::pin(look::parked_lanes(self))
    }

    fn retain<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<Removed>> {
        Box::pin(retain::retain(self, retention))
    }

    fn examine(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        Box::pin(examine::examine(self))
    }

    fn verify_audit(&self, after: Option<AuditMark>, limit: usize) -> BoxFuture<'_, Result<AuditStep>> {
        Box::pin(audit::verify(self, after, limit))
    }
}

impl JobDesk for MySqlStore {
    fn create_job<'a>(&'a self, job: &'a NewJob, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(job::create(self, job, act))
    }

    fn jobs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Job>>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            job::newest(&mut work, limit).await
        })
    }

    fn job(&self, id: i64) -> BoxFuture<'_, Result<Option<Job>>> {
        Box::pin(async move {
            let mut connection = self.connection().await?;
            let mut work = Work::snapshot(self, &mut connection).await?;
            job::one(&mut work, id).await
        })
    }

    fn pause_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(job::turn(self, Turn::Pause, id, act))
    }

    fn resume_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(job::turn(self, Turn::Resume, id, act))
    }

    fn cancel_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(job::turn(self, Turn::Cancel, id, act))
    }

    fn step_job<'a>(
        &'a self,
        worker: &'a WorkerId,
        only: Option<i64>,
    ) -> BoxFuture<'a, Result<Option<JobStep>>> {
        Box::pin(steps::step(self, worker, only))
    }
}

//! The operator's side.

use futures_core::future::BoxFuture;

use super::{
    Inner, PostgresStore, Result, Session, error, row,
    session::{Begin, Parameter},
    value,
};
use crate::{
    Held, Hold, MessageId, NewMessage, Timestamp,
    desk::{
        Act, AuditMark, AuditStep, DeadLetter, Desk, Detail, Edit, Enqueued, Filter, Finding, Job, JobDesk,
        JobStep, MessageRef, NewJob, Page, Parked, Record, Removed, Replay, Replayed, ResumedLane, Retention,
        Seen, SeenLane, StatusReport, WorkerRecord,
    },
    job::JobKind,
    store::{
        LaneId, WorkerId,
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

impl Desk for PostgresStore {
    fn enqueue<'a>(&'a self, messages: &'a [NewMessage]) -> BoxFuture<'a, Result<Vec<Enqueued>>> {
        Box::pin(self.0.limited(enqueue::enqueue(&self.0, messages)))
    }

    fn status(&self) -> BoxFuture<'_, Result<StatusReport>> {
        Box::pin(self.0.limited(status::status(&self.0)))
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        page: Page,
        payloads: bool,
    ) -> BoxFuture<'a, Result<Vec<Record>>> {
        Box::pin(self.0.limited(async move {
            // Without an end, the number is no help: then as the planner likes.
            let begin = page.until.map_or(Begin::Look, |_| Begin::GlanceByShard);
            let mut session = self.0.session().await?;
            session.opens();
            session.begin(begin).await?;
            let records = look::list(&session, filter, page, payloads).await?;
            session.commit().await?;
            session.closed();
            Ok(records)
        }))
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<u64>> {
        Box::pin(self.0.limited(async move {
            let mut session = self.0.session().await?;
            session.opens();
            session.begin(Begin::Look).await?;
            let count = look::count(&session, filter).await?;
            session.commit().await?;
            session.closed();
            Ok(count)
        }))
    }

    fn find(&self, message: MessageRef) -> BoxFuture<'_, Result<Option<Detail>>> {
        Box::pin(self.0.limited(look::find(&self.0, message)))
    }

    fn edit<'a>(&'a self, message: MessageRef, edit: &'a Edit, act: &'a Act) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.limited(edit::edit(&self.0, message, edit, act)))
    }

    fn newest_acts<'a>(&'a self, messages: &'a [MessageId]) -> BoxFuture<'a, Result<Vec<u64>>> {
        Box::pin(self.0.limited(audit::newest_acts(&self.0, messages)))
    }

    fn redrive<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(
            self.0
                .limited(rescue::rescue(&self.0, JobKind::Redrive, filter, at_most, act)),
        )
    }

    fn discard<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(
            self.0
                .limited(rescue::rescue(&self.0, JobKind::Discard, filter, at_most, act)),
        )
    }

    fn rescue<'a>(
        &'a self,
        way: JobKind,
        letter: MessageId,
        seen: Seen,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.limited(rescue::one(&self.0, way, letter, seen, act)))
    }

    fn import<'a>(
        &'a self,
        letters: &'a [DeadLetter],
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(self.0.limited(enqueue::import(&self.0, letters, act)))
    }

    fn record_import<'a>(&'a self, detail: &'a str, act: &'a Act) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.limited(audit::record(&self.0, act, "import", detail)))
    }

    fn replay<'a>(
        &'a self,
        replay: &'a Replay,
        after: i64,
        act: Option<&'a Act>,
    ) -> BoxFuture<'a, Result<Replayed>> {
        Box::pin(self.0.limited(replay::replay(&self.0, replay, after, act)))
    }

    fn reveal<'a>(&'a self, messages: &'a [MessageId], act: &'a Act) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.0.limited(audit::reveal(&self.0, messages, act)))
    }

    fn pause<'a>(&'a self, destination: &'a str, act: &'a Act) -> BoxFuture<'a, Result<Held>> {
        Box::pin(self.0.limited(async move {
            let new = by_hand(destination, act)?;
            hold::begin(&self.0, &new, act).await
        }))
    }

    fn resume<'a>(
        &'a self,
        destination: &'a str,
        seen: Option<Timestamp>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<Hold>>> {
        Box::pin(self.0.limited(hold::end(&self.0, destination, seen, act)))
    }

    fn holds(&self) -> BoxFuture<'_, Result<Vec<Hold>>> {
        Box::pin(self.0.limited(async move {
            let session = self.0.session().await?;
            hold::all(&session).await
        }))
    }

    fn workers(&self) -> BoxFuture<'_, Result<Vec<WorkerRecord>>> {
        Box::pin(self.0.limited(async move {
            let session = self.0.session().await?;
            hold::workers(&session).await
        }))
    }

    fn park_lane<'a>(&'a self, lane: &'a LaneId, act: &'a Act) -> BoxFuture<'a, Result<Parked>> {
        Box::pin(self.0.limited(lane::park(&self.0, lane, act)))
    }

    fn resume_lane<'a>(
        &'a self,
        lane: &'a LaneId,
        seen: Option<SeenLane>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<ResumedLane>>> {
        Box::pin(self.0.limited(lane::resume(&self.0, lane, seen, act)))
    }

    fn parked_lanes(&self) -> BoxFuture<'_, Result<Vec<(LaneId, MessageId, Timestamp)>>> {
        Box::pin(self.0.limited(look::parked_lanes(&self.0)))
    }

    fn retain<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<Removed>> {
        Box::pin(self.0.limited(retain::retain(&self.0, retention)))
    }

    fn examine(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        Box::pin(self.0.limited(examine::examine(&self.0)))
    }

    fn verify_audit(&self, after: Option<AuditMark>, limit: usize) -> BoxFuture<'_, Result<AuditStep>> {
        Box::pin(self.0.limited(audit::verify(&self.0, after, limit)))
    }
}

impl JobDesk for PostgresStore {
    fn create_job<'a>(&'a self, job: &'a NewJob, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(self.0.limited(job::create(&self.0, job, act)))
    }

    fn jobs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Job>>> {
        Box::pin(self.0.limited(async move {
            let session = self.0.session().await?;
            job::newest(&session, limit).await
        }))
    }

    fn job(&self, id: i64) -> BoxFuture<'_, Result<Option<Job>>> {
        Box::pin(self.0.limited(async move {
            let session = self.0.session().await?;
            job::one(&session, id).await
        }))
    }

    fn pause_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(self.0.limited(job::turn(&self.0, Turn::Pause, id, act)))
    }

    fn resume_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(self.0.limited(job::turn(&self.0, Turn::Resume, id, act)))
    }

    fn cancel_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(self.0.limited(job::turn(&self.0, Turn::Cancel, id, act)))
    }

    fn step_job<'a>(
        &'a self,
        worker: &'a WorkerId,
        only: Option<i64>,
    ) -> BoxFuture<'a, Result<Option<JobStep>>> {
        Box::pin(steps::step(self, worker, only))
    }
}

//! The operator's side.

use futures_core::future::BoxFuture;

use super::{
    SqliteStore,
    connection::{Done, Purpose, Session},
    row, schema,
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

impl Desk for SqliteStore {
    fn enqueue<'a>(&'a self, messages: &'a [NewMessage]) -> BoxFuture<'a, Result<Vec<Enqueued>>> {
        let messages = messages.to_vec();
        self.run(Purpose::Write, move |session| {
            enqueue::enqueue(session, &messages)
        })
    }

    fn status(&self) -> BoxFuture<'_, Result<StatusReport>> {
        self.run(Purpose::Count, status::status)
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        page: Page,
        payloads: bool,
    ) -> BoxFuture<'a, Result<Vec<Record>>> {
        let filter = filter.clone();
        self.run(Purpose::Look, move |session| {
            look::list(session, &filter, page, payloads)
        })
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<u64>> {
        let filter = filter.clone();
        self.run(Purpose::Count, move |session| look::count(session, &filter))
    }

    fn find(&self, message: MessageRef) -> BoxFuture<'_, Result<Option<Detail>>> {
        self.run(Purpose::Look, move |session| look::find(session, message))
    }

    fn edit<'a>(&'a self, message: MessageRef, edit: &'a Edit, act: &'a Act) -> BoxFuture<'a, Result<()>> {
        let (edit, act) = (edit.clone(), act.clone());
        self.run(Purpose::Write, move |session| {
            edit::edit(session, message, &edit, &act)
        })
    }

    fn newest_acts<'a>(&'a self, messages: &'a [MessageId]) -> BoxFuture<'a, Result<Vec<u64>>> {
        let messages = messages.to_vec();
        self.run(Purpose::Look, move |session| {
            audit::newest_acts(session, &messages)
        })
    }

    fn redrive<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        let (filter, act) = (filter.clone(), act.clone());
        self.run(Purpose::Write, move |session| {
            rescue::rescue(session, JobKind::Redrive, &filter, at_most, &act)
        })
    }

    fn discard<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        let (filter, act) = (filter.clone(), act.clone());
        self.run(Purpose::Write, move |session| {
            rescue::rescue(session, JobKind::Discard, &filter, at_most, &act)
        })
    }

    fn rescue<'a>(
        &'a self,
        way: JobKind,
        letter: MessageId,
        seen: Seen,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<()>> {
        let act = act.clone();
        self.run(Purpose::Write, move |session| {
            rescue::one(session, way, letter, seen, &act)
        })
    }

    fn import<'a>(
        &'a self,
        letters: &'a [DeadLetter],
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        let (letters, act) = (letters.to_vec(), act.clone());
        self.run(Purpose::Write, move |session| {
            enqueue::import(session, &letters, &act)
        })
    }

    fn record_import<'a>(&'a self, detail: &'a str, act: &'a Act) -> BoxFuture<'a, Result<()>> {
        let (detail, act) = (detail.to_owned(), act.clone());
        self.run(Purpose::Write, move |session| {
            audit::append(session, &act, "import", None, &detail)
        })
    }

    fn replay<'a>(
        &'a self,
        replay: &'a Replay,
        after: i64,
        act: Option<&'a Act>,
    ) -> BoxFuture<'a, Result<Replayed>> {
        let (replay, act) = (replay.clone(), act.cloned());
        let purpose = act.as_ref().map_or(Purpose::Look, |_| Purpose::Write);
        self.run(purpose, move |session| {
            replay::replay(session, &replay, after, act.as_ref())
        })
    }

    fn reveal<'a>(&'a self, messages: &'a [MessageId], act: &'a Act) -> BoxFuture<'a, Result<()>> {
        let (messages, act) = (messages.to_vec(), act.clone());
        self.run(Purpose::Write, move |session| {
            audit::reveal(session, &messages, &act)
        })
    }

    fn pause<'a>(&'a self, destination: &'a str, act: &'a Act) -> BoxFuture<'a, Result<Held>> {
        let (new, act) = (by_hand(destination, act), act.clone());
        self.run(Purpose::Write, move |session| hold::begin(session, &new?, &act))
    }

    fn resume<'a>(
        &'a self,
        destination: &'a str,
        seen: Option<Timestamp>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<Hold>>> {
        let (destination, act) = (destination.to_owned(), act.clone());
        self.run(Purpose::Write, move |session| {
            hold::end(session, &destination, seen, &act)
        })
    }

    fn holds(&self) -> BoxFuture<'_, Result<Vec<Hold>>> {
        self.run(Purpose::Look, hold::all)
    }

    fn workers(&self) -> BoxFuture<'_, Result<Vec<WorkerRecord>>> {
        self.run(Purpose::Look, hold::workers)
    }

    fn park_lane<'a>(&'a self, lane: &'a LaneId, act: &'a Act) -> BoxFuture<'a, Result<Parked>> {
        let (lane, act) = (lane.clone(), act.clone());
        self.run(Purpose::Write, move |session| lane::park(session, &lane, &act))
    }

    fn resume_lane<'a>(
        &'a self,
        lane: &'a LaneId,
        seen: Option<SeenLane>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<ResumedLane>>> {
        let (lane, act) = (lane.clone(), act.clone());
        self.run(Purpose::Write, move |session| {
            lane::resume(session, &lane, seen, &act)
        })
    }

    fn parked_lanes(&self) -> BoxFuture<'_, Result<Vec<(LaneId, MessageId, Timestamp)>>> {
        self.run(Purpose::Look, look::parked_lanes)
    }

    fn retain<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<Removed>> {
        let (retention, sweeps) = (*retention, self.sweeps.clone());
        self.run(Purpose::Write, move |session| {
            retain::retain(session, &sweeps, &retention)
        })
    }

    fn examine(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        self.run(Purpose::Count, examine::examine)
    }

    fn verify_audit(&self, after: Option<AuditMark>, limit: usize) -> BoxFuture<'_, Result<AuditStep>> {
        self.run(Purpose::Read, move |session| audit::verify(session, after, limit))
    }
}

impl JobDesk for SqliteStore {
    fn create_job<'a>(&'a self, job: &'a NewJob, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        let (job, act) = (job.clone(), act.clone());
        self.run(Purpose::Write, move |session| job::create(session, &job, &act))
    }

    fn jobs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Job>>> {
        self.run(Purpose::Read, move |session| job::newest(session, limit))
    }

    fn job(&self, id: i64) -> BoxFuture<'_, Result<Option<Job>>> {
        self.run(Purpose::Read, move |session| job::one(session, id))
    }

    fn pause_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        let act = act.clone();
        self.run(Purpose::Write, move |session| {
            job::turn(session, Turn::Pause, id, &act)
        })
    }

    fn resume_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        let act = act.clone();
        self.run(Purpose::Write, move |session| {
            job::turn(session, Turn::Resume, id, &act)
        })
    }

    fn cancel_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        let act = act.clone();
        self.run(Purpose::Write, move |session| {
            job::turn(session, Turn::Cancel, id, &act)
        })
    }

    fn step_job<'a>(
        &'a self,
        worker: &'a WorkerId,
        only: Option<i64>,
    ) -> BoxFuture<'a, Result<Option<JobStep>>> {
        Box::pin(steps::step(self, worker, only))
    }
}

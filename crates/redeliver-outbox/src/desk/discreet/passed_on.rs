//! What goes through the discreet desk: most of it as it is.

use std::time::Duration;

use futures_core::future::BoxFuture;

use super::{
    super::{
        Act, AuditMark, AuditRecord, AuditStep, DeadLetter, Desk, Detail, Edit, Enqueued, Filter, Finding,
        Issue, IssueDetail, Job, JobDesk, JobPreview, JobStep, Layout, Look, MessageRef, Migration, NewJob,
        Outlook, Page, Parked, Pulse, Record, Removed, Replay, Replayed, ResumedLane, Retention, Schema,
        Searched, Seen, SeenLane, StandingLane, StatusReport, Storage, WorkerRecord,
    },
    Discreet,
};
use crate::{
    Fingerprint, Held, Hold, MessageId, NewMessage, Timestamp,
    job::JobKind,
    store::{LaneId, Result, WorkerId},
};

impl Schema for Discreet {
    fn migrations(&self, layout: Layout) -> Vec<Migration> {
        self.desk.migrations(layout)
    }

    fn version(&self) -> BoxFuture<'_, Result<u32>> {
        self.desk.version()
    }

    fn migrate(&self, layout: Layout, to: Option<u32>) -> BoxFuture<'_, Result<Vec<u32>>> {
        self.desk.migrate(layout, to)
    }

    fn usual_layout(&self) -> Layout {
        self.desk.usual_layout()
    }
}

impl Look for Discreet {
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>> {
        self.desk.issues(limit)
    }

    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>> {
        self.desk.issue(fingerprint)
    }

    fn nearest<'a>(
        &'a self,
        filter: &'a Filter,
        behind: Option<i64>,
        newest_first: bool,
    ) -> BoxFuture<'a, Result<Option<i64>>> {
        Box::pin(async move {
            let filter = self.narrowed(filter);
            self.desk.nearest(&filter, behind, newest_first).await
        })
    }

    fn pulse(&self) -> BoxFuture<'_, Result<Pulse>> {
        self.desk.pulse()
    }

    fn sequence(&self) -> BoxFuture<'_, Result<i64>> {
        self.desk.sequence()
    }

    fn outlook(&self) -> BoxFuture<'_, Result<Outlook>> {
        self.desk.outlook()
    }

    fn lanes(&self, limit: usize) -> BoxFuture<'_, Result<Vec<StandingLane>>> {
        self.desk.lanes(limit)
    }

    fn storage(&self) -> BoxFuture<'_, Result<Storage>> {
        self.desk.storage()
    }

    fn audit_page(&self, before: Option<i64>, limit: usize) -> BoxFuture<'_, Result<Vec<AuditRecord>>> {
        Box::pin(async move {
            let acts = self.desk.audit_page(before, limit).await?;
            self.shown_acts(acts).await
        })
    }
}

impl Desk for Discreet {
    fn enqueue<'a>(&'a self, messages: &'a [NewMessage]) -> BoxFuture<'a, Result<Vec<Enqueued>>> {
        self.desk.enqueue(messages)
    }

    fn status(&self) -> BoxFuture<'_, Result<StatusReport>> {
        self.desk.status()
    }

    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        page: Page,
        payloads: bool,
    ) -> BoxFuture<'a, Result<Vec<Record>>> {
        Box::pin(async move {
            let records = self.desk.list(&self.narrowed(filter), page, payloads).await?;
            Ok(records.into_iter().map(|record| self.shown(record)).collect())
        })
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move { self.desk.count(&self.narrowed(filter)).await })
    }

    fn find(&self, message: MessageRef) -> BoxFuture<'_, Result<Option<Detail>>> {
        Box::pin(async move {
            let found = self.desk.find(message).await?;
            Ok(found.map(|detail| self.shown_detail(detail)))
        })
    }

    fn edit<'a>(&'a self, message: MessageRef, edit: &'a Edit, act: &'a Act) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let meant = self.meant(message, edit).await?;
            self.desk.edit(message, &meant, act).await
        })
    }

    fn newest_acts<'a>(&'a self, messages: &'a [MessageId]) -> BoxFuture<'a, Result<Vec<u64>>> {
        self.desk.newest_acts(messages)
    }

    fn redrive<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(async move { self.desk.redrive(&self.narrowed(filter), at_most, act).await })
    }

    fn discard<'a>(
        &'a self,
        filter: &'a Filter,
        at_most: usize,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        Box::pin(async move { self.desk.discard(&self.narrowed(filter), at_most, act).await })
    }

    fn rescue<'a>(
        &'a self,
        way: JobKind,
        letter: MessageId,
        seen: Seen,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<()>> {
        self.desk.rescue(way, letter, seen, act)
    }

    fn import<'a>(
        &'a self,
        letters: &'a [DeadLetter],
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Vec<MessageId>>> {
        self.desk.import(letters, act)
    }

    fn record_import<'a>(&'a self, detail: &'a str, act: &'a Act) -> BoxFuture<'a, Result<()>> {
        self.desk.record_import(detail, act)
    }

    fn replay<'a>(
        &'a self,
        replay: &'a Replay,
        after: i64,
        act: Option<&'a Act>,
    ) -> BoxFuture<'a, Result<Replayed>> {
        Box::pin(async move {
            self.check_replay(replay)?;
            self.desk.replay(replay, after, act).await
        })
    }

    fn reveal<'a>(&'a self, messages: &'a [MessageId], act: &'a Act) -> BoxFuture<'a, Result<()>> {
        self.desk.reveal(messages, act)
    }

    fn pause<'a>(&'a self, destination: &'a str, act: &'a Act) -> BoxFuture<'a, Result<Held>> {
        self.desk.pause(destination, act)
    }

    fn resume<'a>(
        &'a self,
        destination: &'a str,
        seen: Option<Timestamp>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<Hold>>> {
        self.desk.resume(destination, seen, act)
    }

    fn park_lane<'a>(&'a self, lane: &'a LaneId, act: &'a Act) -> BoxFuture<'a, Result<Parked>> {
        self.desk.park_lane(lane, act)
    }

    fn resume_lane<'a>(
        &'a self,
        lane: &'a LaneId,
        seen: Option<SeenLane>,
        act: &'a Act,
    ) -> BoxFuture<'a, Result<Option<ResumedLane>>> {
        self.desk.resume_lane(lane, seen, act)
    }

    fn holds(&self) -> BoxFuture<'_, Result<Vec<Hold>>> {
        self.desk.holds()
    }

    fn workers(&self) -> BoxFuture<'_, Result<Vec<WorkerRecord>>> {
        self.desk.workers()
    }

    fn parked_lanes(&self) -> BoxFuture<'_, Result<Vec<(LaneId, MessageId, Timestamp)>>> {
        self.desk.parked_lanes()
    }

    fn retain<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<Removed>> {
        self.desk.retain(retention)
    }

    fn examine(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        self.desk.examine()
    }

    fn verify_audit(&self, after: Option<AuditMark>, limit: usize) -> BoxFuture<'_, Result<AuditStep>> {
        self.desk.verify_audit(after, limit)
    }

    fn search<'a>(
        &'a self,
        filter: &'a Filter,
        page: Page,
        budget: Duration,
    ) -> BoxFuture<'a, Result<Searched>> {
        Box::pin(async move {
            let mut found = self.desk.search(&self.narrowed(filter), page, budget).await?;
            found.records = found
                .records
                .into_iter()
                .map(|record| self.shown(record))
                .collect();
            Ok(found)
        })
    }
}

impl JobDesk for Discreet {
    fn preview_job<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<JobPreview>> {
        Box::pin(async move {
            let mut preview = self.desk.preview_job(&self.narrowed(filter)).await?;
            preview.sample = preview
                .sample
                .into_iter()
                .map(|record| self.shown(record))
                .collect();
            Ok(preview)
        })
    }

    fn create_job<'a>(&'a self, job: &'a NewJob, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        Box::pin(async move {
            let mut filter = self.narrowed(&job.filter).into_owned();
            // What dies while it goes on is nobody's choice yet.
            if filter.died_by.is_none() {
                filter.died_by = Some(self.desk.pulse().await?.now);
            }
            let job = NewJob {
                filter,
                ..job.clone()
            };
            self.desk.create_job(&job, act).await
        })
    }

    fn jobs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Job>>> {
        self.desk.jobs(limit)
    }

    fn job(&self, id: i64) -> BoxFuture<'_, Result<Option<Job>>> {
        self.desk.job(id)
    }

    fn pause_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        self.desk.pause_job(id, act)
    }

    fn resume_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        self.desk.resume_job(id, act)
    }

    fn cancel_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>> {
        self.desk.cancel_job(id, act)
    }

    fn step_job<'a>(
        &'a self,
        worker: &'a WorkerId,
        only: Option<i64>,
    ) -> BoxFuture<'a, Result<Option<JobStep>>> {
        self.desk.step_job(worker, only)
    }
}

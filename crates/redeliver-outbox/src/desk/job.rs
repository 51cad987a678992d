//! Jobs: acts on many dead letters that go on by themselves, with care.

use std::time::Duration;

use futures_core::future::BoxFuture;

use super::{Act, Desk, Filter, Page, Record};
use crate::{
    Timestamp,
    job::{Decision, Excused, JobKind, JobPlan, JobState, Tally},
    limits::JOB_SAMPLE,
    state::Status,
    store::{Result, WorkerId},
};

/// A job to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// What it does.
    pub kind: JobKind,
    /// To which dead letters.
    pub filter: Filter,
    /// To how many of them at most, the oldest first; none for all that match.
    pub at_most: Option<u64>,
    /// How carefully.
    pub plan: JobPlan,
}

/// What a job would be for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPreview {
    /// Dead letters that match.
    pub matched: u64,
    /// The oldest of them, without their payloads.
    pub sample: Vec<Record>,
}

/// A job, as its row tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub id: i64,
    /// What it does.
    pub kind: JobKind,
    /// To which dead letters.
    pub filter: Filter,
    /// Who made it, and why.
    pub act: Act,
    /// Where it is.
    pub state: JobState,
    /// How carefully it goes.
    pub plan: JobPlan,
    /// What has become of its messages, as of its last step.
    pub tally: Tally,
    /// What it is not judged by.
    pub excused: Excused,
    /// How many it let out the last time.
    pub wave: u64,
    /// Whether there are no more dead letters that match, however many there were.
    pub exhausted: bool,
    /// The number of the last dead letter that it let out, or passed.
    pub reached: i64,
    /// The number of the last failing message that it looked at again.
    pub looked: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When its next step is due.
    pub next_step_at: Timestamp,
    /// The process that steps it, while it does.
    pub runner: Option<String>,
    /// What happened last, in a sentence.
    pub note: String,
}

/// What one step of a job did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStep {
    /// The job after it.
    pub job: Job,
    /// What was decided.
    pub decision: Decision,
    /// How long until the next step is due; none if the job is over.
    pub next: Option<Duration>,
}

/// The operator's desk, with jobs.
pub trait JobDesk: Desk {
    /// How many dead letters match, and a few of them.
    fn preview_job<'a>(&'a self, filter: &'a Filter) -> BoxFuture<'a, Result<JobPreview>> {
        Box::pin(async move {
            let filter = Filter {
                statuses: vec![Status::DeadLettered],
                ..filter.clone()
            };
            let page = Page {
                after: None,
                limit: JOB_SAMPLE,
                newest_first: false,
                until: None,
            };
            Ok(JobPreview {
                matched: self.count(&filter).await?,
                sample: self.list(&filter, page, false).await?,
            })
        })
    }

    /// Makes a job. Nothing happens before somebody steps it. Refused if one of the same kind with the same filter is not over yet.
    fn create_job<'a>(&'a self, job: &'a NewJob, act: &'a Act) -> BoxFuture<'a, Result<Job>>;

    /// The newest jobs.
    fn jobs(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Job>>>;

    /// One job.
    fn job(&self, id: i64) -> BoxFuture<'_, Result<Option<Job>>>;

    /// Holds a job: nothing more is let out until it goes on.
    fn pause_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>>;

    /// Lets a job go on that was paused, or that stopped by itself. In that case a reason must be given: it begins again with its canary
    /// for what is left, and what failed until then is not counted any more.
    fn resume_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>>;

    /// Ends a job. What it let out stays out.
    fn cancel_job<'a>(&'a self, id: i64, act: &'a Act) -> BoxFuture<'a, Result<Job>>;

    /// Does one bounded step of a job that is due, or of this one if it is, and says which; none if there is none, or if another process
    /// has it in hand. All of a step is one transaction. One that fails is put off, which its note tells, so that others have their turn;
    /// a job that this version cannot read is left alone, and told when nothing else is due.
    fn step_job<'a>(
        &'a self,
        worker: &'a WorkerId,
        only: Option<i64>,
    ) -> BoxFuture<'a, Result<Option<JobStep>>>;
}

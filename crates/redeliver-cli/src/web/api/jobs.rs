//! Acts on many dead letters that go on by themselves, with care.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use futures_util::future::BoxFuture;
use redeliver_outbox::{
    desk::{Act, Filter, Job, JobDesk, NewJob},
    job::{JobKind, JobPlan},
    state::Status,
    store,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::{guard::Caller, problem::Problem, site::Site},
    extract::{Called, Given},
    filter::FilterBody,
    given::ActForm,
};
use crate::commands::outbox::{form::RecordForm, job::form::JobForm};

/// The most jobs that are told.
const MOST: usize = 200;

/// The most dead letters that a job is for.
const MOST_LETTERS: u64 = 1_000_000_000;

/// The jobs.
#[derive(Serialize, ToSchema)]
struct JobsForm<'a> {
    items: Vec<JobForm<'a>>,
}

/// What a job would be for.
#[derive(Serialize, ToSchema)]
struct PreviewForm<'a> {
    /// Dead letters that match.
    matching: u64,
    /// The filter with this as its `died_by` matches these, and not what dies from now on.
    died_by: String,
    /// The oldest of them, without their payloads.
    sample: Vec<RecordForm<'a>>,
    /// What to know before they are redriven: some are older than inboxes keep ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// A job to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewJobForm {
    /// redrive, or discard; redrive if it is not given.
    kind: Option<String>,
    /// Which dead letters.
    filter: FilterBody,
    /// At most this many, the oldest first.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    at_most: Option<u64>,
    /// So many first, whose outcomes are waited for; 0 for all at once. 5 if it is not given.
    canary: Option<u32>,
    /// Each time so many times as many as before. 2 if it is not given.
    factor: Option<u32>,
    /// The milliseconds between. 2000 if it is not given.
    interval_ms: Option<u64>,
    /// It stops by itself when more than this share of them fails, 0 to 1. 0.2 if it is not given.
    stop_share: Option<f64>,
    /// Only say how many match, and show a few.
    #[serde(default)]
    preview: bool,
    #[serde(default)]
    act: ActForm,
}

impl NewJobForm {
    fn plan(&self) -> Result<JobPlan, Problem> {
        let usual = JobPlan::default();
        let stop_permille = match self.stop_share {
            None => usual.stop_permille,
            Some(share) if (0.0..=1.0).contains(&share) => (share * 1000.0).round() as u16,
            Some(_) => return Err(Problem::bad_request("stop_share: must be a number from 0 to 1")),
        };
        let plan = JobPlan {
            canary: self.canary.unwrap_or(usual.canary),
            factor: self.factor.unwrap_or(usual.factor),
            interval: self.interval_ms.map_or(usual.interval, Duration::from_millis),
            stop_permille,
        };
        plan.validate()
            .map_err(|error| Problem::bad_request(error.to_string()))?;
        Ok(plan)
    }
}

/// The newest jobs
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs",
    responses((status = 200, body = JobsForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let jobs = site.desk.jobs(MOST).await?;
    let items = jobs.iter().map(JobForm::of).collect();
    Ok(Json(JobsForm { items }).into_response())
}

/// One job, and how far it is
#[utoipa::path(get, path = "/api/v1/jobs/{job}", tag = "jobs", params(("job" = i64, Path, minimum = 0)),
    responses((status = 200, body = JobForm), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(State(site): State<Arc<Site>>, Called(job): Called) -> Result<Response, Problem> {
    match site.desk.job(number(&job)?).await? {
        Some(job) => Ok(Json(JobForm::of(&job)).into_response()),
        None => Err(Problem::not_found("there is no such job")),
    }
}

/// Make a job: a few first, then more and more, and no more when too many fail
#[utoipa::path(post, path = "/api/v1/jobs", tag = "jobs", request_body = NewJobForm,
    responses((status = 201, body = JobForm), (status = 200, body = PreviewForm, description = "What a job would be for"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "Another job does this already")))]
pub(super) async fn create(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Given(form): Given<NewJobForm>,
) -> Result<Response, Problem> {
    let plan = form.plan()?;
    let kind = match form.kind.as_deref() {
        None | Some("redrive") => JobKind::Redrive,
        Some("discard") => JobKind::Discard,
        Some(_) => return Err(Problem::bad_request("kind: must be redrive or discard")),
    };
    if form
        .at_most
        .is_some_and(|most| !(1..=MOST_LETTERS).contains(&most))
    {
        let rule = format!("at_most: must be a whole number from 1 to {MOST_LETTERS}");
        return Err(Problem::bad_request(rule));
    }
    let act = form.act.act(&caller)?;
    let filter = Filter {
        statuses: vec![Status::DeadLettered],
        ..Filter::try_from(form.filter)?
    };
    if form.preview {
        let died_by = match filter.died_by {
            Some(given) => given,
            None => site.desk.pulse().await?.now,
        };
        let filter = Filter {
            died_by: Some(died_by),
            ..filter
        };
        let preview = site.desk.preview_job(&filter).await?;
        let form = PreviewForm {
            matching: preview.matched,
            died_by: died_by.to_string(),
            sample: preview.sample.iter().map(RecordForm::of).collect(),
            warning: match kind {
                JobKind::Redrive => site.forgotten_warning(&filter).await?,
                _ => None,
            },
        };
        return Ok(Json(form).into_response());
    }
    if kind == JobKind::Discard && act.why.trim().is_empty() {
        return Err(Problem::bad_request(
            "act.why: must be given: it is all that will be left of them",
        ));
    }
    let new = NewJob {
        kind,
        filter,
        at_most: form.at_most,
        plan,
    };
    let job = site.desk.create_job(&new, &act).await?;
    Ok((StatusCode::CREATED, Json(JobForm::of(&job))).into_response())
}

/// Hold a job: nothing more is let out until it goes on
#[utoipa::path(post, path = "/api/v1/jobs/{job}/pause", tag = "jobs", params(("job" = i64, Path, minimum = 0)), request_body = ActForm,
    responses((status = 200, body = JobForm), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "It is not in a state for this")))]
pub(super) async fn pause(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Called(job): Called,
    Given(form): Given<ActForm>,
) -> Result<Response, Problem> {
    turned(&site, &job, form.act(&caller)?, <dyn JobDesk>::pause_job).await
}

/// Let a job go on that was paused, or, with a reason (why), one that stopped by itself: it begins again with its canary for what is left
#[utoipa::path(post, path = "/api/v1/jobs/{job}/resume", tag = "jobs", params(("job" = i64, Path, minimum = 0)), request_body = ActForm,
    responses((status = 200, body = JobForm), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "It is not in a state for this")))]
pub(super) async fn resume(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Called(job): Called,
    Given(form): Given<ActForm>,
) -> Result<Response, Problem> {
    turned(&site, &job, form.act(&caller)?, <dyn JobDesk>::resume_job).await
}

/// End a job; what it let out stays out
#[utoipa::path(post, path = "/api/v1/jobs/{job}/cancel", tag = "jobs", params(("job" = i64, Path, minimum = 0)), request_body = ActForm,
    responses((status = 200, body = JobForm), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "It is not in a state for this")))]
pub(super) async fn cancel(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Called(job): Called,
    Given(form): Given<ActForm>,
) -> Result<Response, Problem> {
    turned(&site, &job, form.act(&caller)?, <dyn JobDesk>::cancel_job).await
}

/// What an operator does to a job.
type Turn = for<'a> fn(&'a (dyn JobDesk + 'static), i64, &'a Act) -> BoxFuture<'a, store::Result<Job>>;

/// The job as it is then. A refusal about a job that is there is about where it is.
async fn turned(site: &Site, job: &str, act: Act, turn: Turn) -> Result<Response, Problem> {
    let id = number(job)?;
    match turn(&*site.desk, id, &act).await {
        Ok(job) => Ok(Json(JobForm::of(&job)).into_response()),
        Err(error) => {
            let problem = Problem::from(error);
            match problem.status() == StatusCode::NOT_FOUND && site.desk.job(id).await?.is_some() {
                true => Err(Problem::new(StatusCode::CONFLICT, problem.detail())),
                false => Err(problem),
            }
        }
    }
}

fn number(text: &str) -> Result<i64, Problem> {
    let number = text.parse().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| Problem::bad_request("job: must be the number of a job"))
}

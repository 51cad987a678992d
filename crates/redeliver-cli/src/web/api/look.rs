//! The workers, the acts of operators, and the database's health.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::{bounded, problem::Problem, site::Site},
    extract::Asked,
    filter::{MOST, nothing_unknown},
};
use crate::commands::outbox::{finding::FindingForm, form::AuditForm, status::WorkerForm};

/// The workers.
#[derive(Serialize, ToSchema)]
struct WorkersForm<'a> {
    items: Vec<WorkerForm<'a>>,
}

/// The newest acts of operators.
#[derive(Serialize, ToSchema)]
struct AuditsForm<'a> {
    items: Vec<AuditForm<'a>>,
    /// The `before` to ask for the next page with; none if there is no more.
    next: Option<i64>,
}

/// What a look at the database's health found.
#[derive(Serialize, ToSchema)]
struct FindingsForm<'a> {
    items: Vec<FindingForm<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AuditQuery {
    limit: Option<String>,
    before: Option<String>,
    #[serde(flatten)]
    unknown: BTreeMap<String, String>,
}

/// The workers, and which of them are alive
#[utoipa::path(get, path = "/api/v1/workers", tag = "operations",
    responses((status = 200, body = WorkersForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn workers(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let workers = site.desk.workers().await?;
    let items = workers.iter().map(WorkerForm::of).collect();
    Ok(Json(WorkersForm { items }).into_response())
}

/// What operators did, the newest first
#[utoipa::path(get, path = "/api/v1/audit", tag = "operations",
    params(("limit" = Option<u32>, Query, description = "At most this many, 1 to 200", minimum = 1, maximum = 200),
        ("before" = Option<i64>, Query, description = "Go on before this number: the `next` of the page before", minimum = 0)),
    responses((status = 200, body = AuditsForm), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn audit(
    State(site): State<Arc<Site>>,
    Asked(query): Asked<AuditQuery>,
) -> Result<Response, Problem> {
    nothing_unknown(&query.unknown)?;
    let before = match query.before.as_deref().map(str::parse::<i64>) {
        None => None,
        Some(Ok(number)) if number >= 0 => Some(number),
        Some(_) => {
            return Err(Problem::bad_request(
                "before: must be a number that a page gave as next",
            ));
        }
    };
    let limit = match query.limit.as_deref().map(str::parse::<u32>) {
        None => 50,
        Some(Ok(limit)) if (1..=MOST).contains(&limit) => limit,
        Some(_) => {
            let rule = format!("limit: must be a whole number from 1 to {MOST}");
            return Err(Problem::bad_request(rule));
        }
    };
    let (acts, full) = bounded::acts(&*site.desk, before, limit as usize).await?;
    let form = AuditsForm {
        items: acts.iter().map(AuditForm::of).collect(),
        next: acts.last().filter(|_| full).map(|act| act.number),
    };
    Ok(Json(form).into_response())
}

/// A look for trouble: the database's version and settings, its clock, shards without owner
#[utoipa::path(get, path = "/api/v1/doctor", tag = "operations",
    responses((status = 200, body = FindingsForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn doctor(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let findings = site.desk.examine().await?;
    let items = findings.iter().map(FindingForm::of).collect();
    Ok(Json(FindingsForm { items }).into_response())
}

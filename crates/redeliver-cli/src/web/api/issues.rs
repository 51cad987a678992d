//! Dead letters that failed in the same way.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::Fingerprint;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{problem::Problem, site::Site},
    extract::Called,
};
use crate::commands::outbox::dead::issues::IssueForm;

/// The most issues that are told.
const MOST: usize = 200;

/// The issues, those with the most letters first.
#[derive(Serialize, ToSchema)]
struct IssuesForm<'a> {
    items: Vec<IssueForm<'a>>,
}

/// One issue, and how it went on.
#[derive(Serialize, ToSchema)]
struct IssueDetailForm<'a> {
    #[serde(flatten)]
    issue: IssueForm<'a>,
    /// How many were quarantined in each of the last 24 hours, the oldest hour first.
    hours: &'a [u64],
}

/// The issues that the dead letters are of, those with the most letters first
#[utoipa::path(get, path = "/api/v1/issues", tag = "dead letters",
    responses((status = 200, body = IssuesForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let issues = site.desk.issues(MOST).await?;
    let items = issues.iter().map(IssueForm::of).collect();
    Ok(Json(IssuesForm { items }).into_response())
}

/// One issue, with its last day hour by hour
#[utoipa::path(get, path = "/api/v1/issues/{fingerprint}", tag = "dead letters", params(("fingerprint" = String, Path, pattern = "^[0-9a-f]{16}$")),
    responses((status = 200, body = IssueDetailForm), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(
    State(site): State<Arc<Site>>,
    Called(fingerprint): Called,
) -> Result<Response, Problem> {
    let fingerprint: Fingerprint = fingerprint
        .parse()
        .map_err(|error: redeliver_outbox::NoFingerprint| Problem::bad_request(error.to_string()))?;
    match site.desk.issue(fingerprint).await? {
        Some(detail) => {
            let form = IssueDetailForm {
                issue: IssueForm::of(&detail.issue),
                hours: &detail.hours,
            };
            Ok(Json(form).into_response())
        }
        None => Err(Problem::not_found(
            "no dead letter is of this issue: they were put back or given up",
        )),
    }
}

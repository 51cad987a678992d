//! The figures of the whole outbox.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};

use super::super::{problem::Problem, site::Site};
use crate::commands::outbox::status::StatusForm;

/// The figures of the whole outbox
#[utoipa::path(get, path = "/api/v1/status", tag = "operations",
    responses((status = 200, body = StatusForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn status(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let report = site.figures().await?;
    Ok(Json(StatusForm::of(&report, &report.live())).into_response())
}

use std::sync::Arc;

use axum::{Json, extract::State};

use super::super::{problem::Problem, site::Site};

/// The figures of the whole outbox
#[utoipa::path(get, path = "/api/v1/status", responses((status = 200), (status = 503, body = Problem)))]
pub(super) async fn status(State(site): State<Arc<Site>>) -> Result<Json<u64>, Problem> {
    let status = site.status().await?;
    Ok(Json(status.map_or(0, |status| status.value.total.due_now)))
}

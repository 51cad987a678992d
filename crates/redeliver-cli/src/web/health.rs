//! Whether the process lives, and whether it is of any use.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::get,
};

use super::{problem::Problem, site::Site};

pub(super) fn router() -> Router<Arc<Site>> {
    Router::new()
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
}

/// Ready means that the outbox can be reached and a relay that is alive owns its shards.
async fn ready(State(site): State<Arc<Site>>) -> Response {
    match site.desk.workers().await {
        Ok(workers) if workers.iter().any(|worker| worker.alive) => "ready\n".into_response(),
        Ok(_) => {
            let status = axum::http::StatusCode::SERVICE_UNAVAILABLE;
            Problem::new(status, "no relay is alive").into_response()
        }
        Err(error) => Problem::from(error).into_response(),
    }
}

//! Whether the process lives, and whether it is of any use.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse as _, Response},
    routing::get,
};

use redeliver_outbox::desk::WorkerRecord;

use super::{
    problem::{self, Problem},
    site::Site,
};

pub(super) fn router() -> Router<Arc<Site>> {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
}

/// The same before there is an outbox.
pub(super) fn waiting() -> Router {
    Router::new().route("/healthz", get(alive)).fallback(not_yet)
}

async fn alive() -> &'static str {
    "alive\n"
}

async fn not_yet(uri: Uri) -> Response {
    let detail = "the database is not there yet: it is waited for, and the relay's log says why";
    problem::answer(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail), uri.path())
}

/// Ready means that the outbox can be reached and that a relay of this process is alive: that another one works says nothing of this one.
async fn ready(State(site): State<Arc<Site>>) -> Response {
    let is_ours = |worker: &WorkerRecord| worker.alive && site.metrics.is_ours(&worker.id);
    match site.desk.workers().await {
        Ok(workers) if workers.iter().any(is_ours) => "ready\n".into_response(),
        Ok(_) => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "no relay of this process is alive",
        )
        .into_response(),
        Err(error) => Problem::from(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use axum::{body::Body, http::Request};
    use redeliver_outbox::{
        config::ServerSettings,
        destination::Routes,
        live::Live,
        store::{self, Beat, History, Names, WorkerId},
    };
    use tower::ServiceExt as _;

    use super::*;
    use crate::web::{About, Counting, Guard, Metrics, router};

    /// A desk of a process with these workers, over an outbox where one called `beats` is alive.
    async fn status_with(workers: &[&str]) -> StatusCode {
        let name = format!("redeliver-ready-{:016x}", redeliver::entropy::draw());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let address = format!("sqlite://{}", folder.join("redeliver.db").display());
        let opened = store::open(&address, &Names::default(), History::default())
            .await
            .unwrap();
        let layout = opened.desk.usual_layout();
        opened.desk.migrate(layout, None).await.unwrap();
        let beat = Beat {
            worker: WorkerId("beats".to_owned()),
            lease: Duration::from_secs(3600),
            in_flight: 0,
            destinations: Live::new(),
        };
        opened.store.beat(&beat).await.unwrap();
        let counting = Counting {
            workers: workers.iter().map(|&worker| worker.to_owned()).collect(),
            ..Counting::default()
        };
        let about = About {
            database: address,
            routes: Routes::new(),
            inbox: None,
        };
        let metrics = Metrics::of(counting, Arc::default(), &about.routes);
        let guard = Guard::new(&ServerSettings::default());
        let site = Arc::new(Site::new(opened.desk, guard, about, metrics));
        let request = Request::get("/readyz").header("host", "localhost");
        let answer = router(site).oneshot(request.body(Body::empty()).unwrap());
        let status = answer.await.unwrap().status();
        fs::remove_dir_all(&folder).unwrap();
        status
    }

    #[tokio::test]
    async fn another_process_makes_nobody_ready() {
        assert_eq!(status_with(&["beats"]).await, StatusCode::OK);
        assert_eq!(status_with(&["was", "beats"]).await, StatusCode::OK);
        assert_eq!(status_with(&["hangs"]).await, StatusCode::SERVICE_UNAVAILABLE);
    }
}

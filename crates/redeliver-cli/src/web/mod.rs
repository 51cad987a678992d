//! The desk over HTTP: the API for programs, the dashboard for people.

pub(crate) mod api;
mod assets;
mod body;
mod bounded;
mod cookies;
mod guard;
mod headers;
mod health;
mod listen;
mod metrics;
mod pages;
mod problem;
mod pulse;
mod sampled;
mod site;

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    middleware,
};
use tokio::sync::watch;
use tower::ServiceExt as _;

pub(crate) use self::{
    guard::Guard,
    listen::Listening,
    metrics::{Counting, Metrics},
    pages::compared,
    site::{About, Site},
};

/// The most bytes of a request's body: a payload of the largest size, written as base64 in JSON.
const BODY_LIMIT: usize = 2 << 20;

/// What answers each request by the site that there is when it comes, if there is one already.
pub(crate) fn service(site: watch::Receiver<Option<Arc<Site>>>) -> Router {
    let routers = Arc::new((site, Mutex::new((None, waiting()))));
    Router::new().fallback(move |request: Request| {
        let router = current(&routers.0, &routers.1);
        async move { router.oneshot(request).await }
    })
}

/// The router of the site that there is now, made once a site.
fn current(site: &watch::Receiver<Option<Arc<Site>>>, made: &Mutex<(Option<Arc<Site>>, Router)>) -> Router {
    let site = site.borrow().clone();
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(site) = site
        && made.0.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &site))
    {
        *made = (Some(Arc::clone(&site)), router(site));
    }
    made.1.clone()
}

/// What is answered while there is no outbox to look into yet: that the process lives. It tells nothing else, and so asks nobody.
fn waiting() -> Router {
    health::waiting().layer(middleware::from_fn(headers::add))
}

/// Everything that is answered. What guards stands around all of it, so that a route cannot be left out.
fn router(site: Arc<Site>) -> Router {
    let (api, document) = api::router(site.guard.is_open());
    let guarded = Router::new()
        .merge(api)
        .merge(pages::router())
        .route(
            "/api/v1/openapi.json",
            axum::routing::get(move || api::document(document)),
        )
        .merge(health::router())
        .merge(metrics::router())
        .merge(assets::router())
        .fallback(problem::no_such_page)
        .method_not_allowed_fallback(problem::no_such_method);
    guarded
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(body::bound))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guard::check))
        .layer(middleware::from_fn(headers::add))
        .with_state(site)
}

//! The desk over HTTP: the API for programs, the dashboard for people.

pub(crate) mod api;
mod assets;
mod guard;
mod headers;
mod health;
mod listen;
mod metrics;
mod pages;
mod problem;
mod sampled;
mod site;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit, middleware};

pub(crate) use self::{
    guard::Guard,
    listen::Listening,
    metrics::Metrics,
    site::{About, Site},
};

/// The most bytes of a request's body: a payload of the largest size, written as base64 in JSON.
const BODY_LIMIT: usize = 2 << 20;

/// Everything that is answered. What guards stands around all of it, so that a route cannot be left out.
pub(crate) fn router(site: Arc<Site>) -> Router {
    let (api, document) = api::router();
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
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guard::check))
        .layer(middleware::from_fn(headers::add))
        .with_state(site)
}

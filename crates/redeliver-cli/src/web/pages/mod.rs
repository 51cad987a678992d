//! The dashboard: pages made here, and pieces of them that a browser asks for again while somebody looks.

mod acting;
mod address;
mod audit;
mod charts;
mod destination;
mod destinations;
mod difference;
mod done;
mod fields;
mod frame;
mod issue;
mod issues;
mod jobs;
mod lanes;
mod letter;
mod letters;
mod line_ends;
mod login;
mod looking;
mod message;
mod messages;
mod narrowing;
mod outlook;
mod overview;
mod patching;
mod payload;
mod picture;
mod preferences;
mod storage;
mod timeline;
mod words;
mod workers;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};

pub(crate) use self::payload::compared;
pub(super) use self::{frame::problem, login::address as way_in};
use super::site::Site;

/// The most bytes of a form with a payload in it: of a character a browser makes three, of the end of a line six.
const FORM_LIMIT: usize = 4 << 20;

pub(super) fn router() -> Router<Arc<Site>> {
    Router::new()
        .route("/", get(overview::page))
        .route("/destinations", get(destinations::page))
        .route("/destinations/{name}", get(destination::page))
        .route("/destinations/{name}/pause", post(destination::pause))
        .route("/destinations/{name}/resume", post(destination::resume))
        .route("/messages", get(messages::page))
        .route("/messages/further", get(looking::further))
        .route("/messages/{id}", get(message::page))
        .route("/messages/{id}/payload", get(message::payload))
        .route("/messages/{id}/redrive", post(letter::redrive))
        .route("/messages/{id}/discard", post(letter::discard))
        .route(
            "/messages/{id}/edit",
            get(letter::edit)
                .post(letter::save)
                .layer(DefaultBodyLimit::max(FORM_LIMIT)),
        )
        .route(
            "/letters/redrive",
            get(letters::ask_redrive).post(letters::redrive),
        )
        .route(
            "/letters/discard",
            get(letters::ask_discard).post(letters::discard),
        )
        .route("/issues", get(issues::page))
        .route("/issues/{fingerprint}", get(issue::page))
        .route("/letters/patch", get(patching::ask).post(patching::save))
        .route("/lanes", get(lanes::page))
        .route("/lanes/park", post(lanes::park))
        .route("/lanes/resume", post(lanes::resume))
        .route("/jobs", get(jobs::page))
        .route("/jobs/{id}", get(jobs::one))
        .route("/jobs/{id}/pause", post(jobs::pause))
        .route("/jobs/{id}/resume", post(jobs::resume))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/storage", get(storage::page))
        .route("/storage/health", get(storage::examine))
        .route("/workers", get(workers::page))
        .route("/audit", get(audit::page))
        .route("/audit/verify", get(audit::verify))
        .route("/charts/flow", get(charts::flow))
        .route("/charts/destinations/{name}", get(charts::destination))
        .route("/charts/destinations/{name}/latency", get(charts::latency))
        .route("/preferences", post(preferences::keep))
        .route("/login", get(login::page).post(login::enter))
        .route("/logout", post(login::leave))
}

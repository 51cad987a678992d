//! The first page: how it goes.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use redeliver_outbox::desk::Figures;

use super::{Frame, shown};
use crate::web::{guard::Caller, site::Site};

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    total: Option<Figures>,
}

pub(super) async fn page(State(site): State<Arc<Site>>, caller: Caller) -> Response {
    let status = match site.status().await {
        Ok(status) => status,
        Err(error) => return super::problem(&error),
    };
    let page = Overview {
        frame: Frame::new("Overview", &site, caller),
        total: status.map(|status| status.value.total),
    };
    shown(StatusCode::OK, &page)
}

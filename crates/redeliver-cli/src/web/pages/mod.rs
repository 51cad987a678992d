//! The dashboard: pages made here, and pieces of them that a browser asks for again while somebody looks.

mod login;
mod overview;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    http::StatusCode,
    response::{Html, IntoResponse as _, Response},
    routing::get,
};

use super::{assets, guard::Caller, problem::Problem, site::Site};

pub(super) fn router() -> Router<Arc<Site>> {
    Router::new()
        .route("/", get(overview::page))
        .route("/login", get(login::page).post(login::enter))
        .route("/logout", axum::routing::post(login::leave))
}

/// What is around every page.
#[derive(Clone, Debug)]
struct Frame {
    /// The name of the page, and of its entry in the navigation.
    title: &'static str,
    database: String,
    caller: Option<Caller>,
}

impl Frame {
    fn new(title: &'static str, site: &Site, caller: Caller) -> Self {
        Self {
            title,
            database: site.about.database.clone(),
            caller: Some(caller),
        }
    }

    /// Where an asset is.
    fn asset(&self, name: &str) -> String {
        assets::address(name)
    }
}

/// A page as it is sent. A template that fails says so, and nothing of it is shown.
fn shown(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(page) => (status, Html(page)).into_response(),
        Err(error) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'a> {
    frame: Frame,
    problem: &'a Problem,
}

/// A page that says what went wrong.
pub(super) fn problem(problem: &Problem) -> Response {
    let frame = Frame {
        title: problem.title(),
        database: String::new(),
        caller: None,
    };
    shown(problem.status(), &ProblemPage { frame, problem })
}

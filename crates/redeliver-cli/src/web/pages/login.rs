//! The way in for a browser, where tokens are asked for.

use std::sync::Arc;

use askama::Template;
use axum::{
    Form,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Redirect, Response},
};
use serde::Deserialize;

use super::frame::{Frame, problem, shown};
use crate::web::{
    guard::{COOKIE, SESSION_FOR},
    problem::Problem,
    site::Site,
};

#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    frame: Frame,
    refused: bool,
}

#[derive(Deserialize)]
pub(super) struct Entry {
    token: String,
}

fn login(refused: bool) -> Response {
    let frame = Frame::bare("Sign in");
    let status = match refused {
        true => StatusCode::UNAUTHORIZED,
        false => StatusCode::OK,
    };
    shown(status, &Login { frame, refused })
}

pub(super) async fn page(State(site): State<Arc<Site>>) -> Response {
    match site.guard.is_open() {
        true => Redirect::to("/").into_response(),
        false => login(false),
    }
}

pub(super) async fn enter(State(site): State<Arc<Site>>, Form(entry): Form<Entry>) -> Response {
    let Some(caller) = site.guard.known(entry.token.trim()) else {
        return login(true);
    };
    let Some(session) = site.guard.admit(caller) else {
        let detail = "this machine has no random numbers to offer; use a token with the API";
        return problem(&Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail));
    };
    let cookie = format!(
        "{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}",
        SESSION_FOR.as_secs()
    );
    ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
}

pub(super) async fn leave(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    site.guard.dismiss(&headers);
    let cookie = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    ([(header::SET_COOKIE, cookie)], Redirect::to("/login")).into_response()
}

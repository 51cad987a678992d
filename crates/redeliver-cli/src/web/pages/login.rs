//! The way in for a browser, where tokens are asked for.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Redirect, Response},
};

use super::{
    address,
    fields::Fields,
    frame::{Frame, problem, shown},
};
use crate::web::{
    guard::{COOKIE, SESSION_FOR},
    problem::Problem,
    site::Site,
};

/// The field with the page that somebody was on their way to.
const TO: &str = "to";

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    frame: Frame,
    refused: bool,
    to: &'a str,
}

/// The way in, for somebody who is on their way to this page.
pub(in crate::web) fn address(to: &str) -> String {
    match address::own(to) {
        "/" => "/login".to_owned(),
        to => address::with("/login", &[(TO, to)]),
    }
}

fn login(status: StatusCode, to: &str) -> Response {
    let page = Login {
        frame: Frame::bare("Sign in"),
        refused: status != StatusCode::OK,
        to,
    };
    shown(status, &page)
}

fn wanted(fields: &Fields) -> &str {
    fields.get(TO).map_or("/", address::own)
}

pub(super) async fn page(State(site): State<Arc<Site>>, query: Fields) -> Response {
    match site.guard.is_open() {
        true => Redirect::to(wanted(&query)).into_response(),
        false => login(StatusCode::OK, wanted(&query)),
    }
}

pub(super) async fn enter(State(site): State<Arc<Site>>, form: String) -> Response {
    let form = Fields::of(&form);
    let to = wanted(&form);
    let Some(caller) = site.guard.known(form.get("token").unwrap_or_default()) else {
        return login(StatusCode::UNAUTHORIZED, to);
    };
    let Some(session) = site.guard.admit(caller) else {
        let detail = "this machine has no random numbers to offer; use a token with the API";
        return problem(&Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail));
    };
    let cookie = cookie(&session, SESSION_FOR.as_secs());
    ([(header::SET_COOKIE, cookie)], Redirect::to(to)).into_response()
}

pub(super) async fn leave(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    site.guard.dismiss(&headers);
    ([(header::SET_COOKIE, cookie("", 0))], Redirect::to("/login")).into_response()
}

/// Sent along when somebody follows a link from elsewhere, such as an alert, and with nothing else that another site makes a browser do;
/// changes are refused from other sites anyway.
fn cookie(session: &str, age: u64) -> String {
    format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}")
}

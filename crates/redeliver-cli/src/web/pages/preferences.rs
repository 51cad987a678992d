//! What a browser remembers: the colours, and the name of whoever sits before it.

use axum::{
    Form,
    http::header,
    response::{AppendHeaders, IntoResponse as _, Redirect, Response},
};
use serde::Deserialize;

use super::{
    address,
    frame::{NAME, THEME, Theme},
};

/// A year.
const REMEMBERED: u32 = 31_536_000;

#[derive(Debug, Deserialize)]
pub(super) struct Preferences {
    theme: Option<String>,
    name: Option<String>,
    #[serde(default)]
    back: String,
}

pub(super) async fn keep(Form(given): Form<Preferences>) -> Response {
    let cookie = |name: &str, value: &str| {
        let age = if value.is_empty() { 0 } else { REMEMBERED };
        let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}");
        (header::SET_COOKIE, cookie)
    };
    let theme = given.theme.map(|theme| {
        let chosen = Theme::named(&theme).map_or("", Theme::as_str);
        cookie(THEME, chosen)
    });
    let name = given.name.map(|name| {
        let name: String = name.trim().chars().take(80).collect();
        cookie(NAME, &address::encoded(&name))
    });
    let cookies: Vec<_> = theme.into_iter().chain(name).collect();
    (AppendHeaders(cookies), Redirect::to(address::own(&given.back))).into_response()
}

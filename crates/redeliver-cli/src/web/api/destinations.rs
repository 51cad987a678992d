//! Destinations: how they are, and holding one.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{guard::Caller, problem::Problem, site::Site},
    extract::{Called, Given},
    given::ActForm,
};
use crate::commands::outbox::destination::{
    form::{DestinationForm, HoldForm, TriedForm},
    overview,
    trial::Test,
};

/// All destinations.
#[derive(Serialize, ToSchema)]
struct DestinationsForm<'a> {
    items: Vec<DestinationForm<'a>>,
}

/// A destination after it was paused or resumed.
#[derive(Serialize, ToSchema)]
struct ChangedForm<'a> {
    /// Whether anything changed: pausing what is paused does not.
    changed: bool,
    /// The hold that is there now, or the one that has ended.
    hold: Option<HoldForm<'a>>,
}

/// Every destination that the configuration has, that messages name, or that is held
#[utoipa::path(get, path = "/api/v1/destinations", tag = "destinations",
    responses((status = 200, body = DestinationsForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let report = site.figures().await?;
    let all = overview::all(&site.about.routes, &report);
    let items = all.iter().map(DestinationForm::of).collect();
    Ok(Json(DestinationsForm { items }).into_response())
}

/// One destination
#[utoipa::path(get, path = "/api/v1/destinations/{name}", tag = "destinations", params(("name" = String, Path)),
    responses((status = 200, body = DestinationForm), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 400, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(State(site): State<Arc<Site>>, Called(name): Called) -> Result<Response, Problem> {
    let report = site.figures().await?;
    let all = overview::all(&site.about.routes, &report);
    let found: BTreeMap<&str, _> = all.iter().map(|overview| (&*overview.name, overview)).collect();
    match found.get(&*name) {
        Some(overview) => Ok(Json(DestinationForm::of(overview)).into_response()),
        None => Err(unknown(&name)),
    }
}

/// Hold a destination: nothing more is sent there until it is resumed, and nothing is lost
#[utoipa::path(post, path = "/api/v1/destinations/{name}/pause", tag = "destinations", params(("name" = String, Path)),
    request_body = ActForm,
    responses((status = 200, body = ChangedForm),
        (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn pause(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Called(name): Called,
    Given(form): Given<ActForm>,
) -> Result<Response, Problem> {
    let report = site.figures().await?;
    let all = overview::all(&site.about.routes, &report);
    if !all.iter().any(|overview| overview.name == name) {
        return Err(unknown(&name));
    }
    let held = site.desk.pause(&name, &form.act(&caller)?).await?;
    let changed = ChangedForm {
        changed: held.new,
        hold: Some(HoldForm::of(&held.hold)),
    };
    Ok(Json(changed).into_response())
}

/// Let a destination go on that was paused or disabled
#[utoipa::path(post, path = "/api/v1/destinations/{name}/resume", tag = "destinations", params(("name" = String, Path)),
    request_body = ActForm,
    responses((status = 200, body = ChangedForm)))]
pub(super) async fn resume(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Called(name): Called,
    Given(form): Given<ActForm>,
) -> Result<Response, Problem> {
    let ended = site.desk.resume(&name, None, &form.act(&caller)?).await?;
    let changed = ChangedForm {
        changed: ended.is_some(),
        hold: ended.as_ref().map(HoldForm::of),
    };
    Ok(Json(changed).into_response())
}

/// Send one message straight there, as a relay would send its first attempt; nothing is written into the database
#[utoipa::path(post, path = "/api/v1/destinations/{name}/test", tag = "destinations", params(("name" = String, Path)),
    request_body = ActForm,
    responses((status = 200, body = TriedForm),
        (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn test(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Called(name): Called,
    Given(form): Given<ActForm>,
) -> Result<Response, Problem> {
    // Nothing is changed, and so nothing is kept; what makes no sense is refused all the same.
    let _act = form.act(&caller)?;
    let Some(route) = site.about.routes.get(&name) else {
        return Err(unknown(&name));
    };
    let tried = Test::to(&name).send(route).await.map_err(|unsent| {
        let name = crate::readable::line(&name, 80);
        let another = format!("`redeliver destination test {name} --payload …` sends another one");
        Problem::bad_request(unsent.or(&another).to_string())
    })?;
    Ok(Json(TriedForm::of(&name, &tried)).into_response())
}

fn unknown(name: &str) -> Problem {
    let name = crate::readable::line(name, 80);
    Problem::not_found(format!(
        "there is no destination {name:?} in this configuration, and no message for one"
    ))
}

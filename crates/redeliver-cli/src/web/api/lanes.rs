//! Lanes: those that stand or wait, parking one, and letting it go on.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::store::LaneId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::{guard::Caller, problem::Problem, site::Site},
    extract::Given,
    given::ActForm,
};
use crate::commands::outbox::lane::form::{LaneForm, LaneHoldForm};

/// The most lanes of each kind that are told.
const LANES: usize = 200;

#[derive(Serialize, ToSchema)]
struct LanesForm<'a> {
    items: Vec<LaneForm<'a>>,
}

/// Which lane, and who does it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LaneActForm {
    /// The destination of its messages.
    #[schema(example = "billing")]
    destination: String,
    /// Their key.
    #[schema(example = "customer-7")]
    key: String,
    #[serde(default)]
    act: ActForm,
}

impl LaneActForm {
    fn lane(&self) -> LaneId {
        LaneId {
            destination: self.destination.clone(),
            key: self.key.clone(),
        }
    }
}

/// A lane after it was parked.
#[derive(Serialize, ToSchema)]
struct ParkedForm<'a> {
    /// Whether anything changed: parking what is parked by hand does not.
    changed: bool,
    hold: LaneHoldForm<'a>,
}

/// A lane after it was let go on.
#[derive(Serialize, ToSchema)]
struct ResumedForm<'a> {
    /// Whether anything changed: it may not have stood still.
    changed: bool,
    /// The hold that has ended, if somebody had parked it.
    hold: Option<LaneHoldForm<'a>>,
    /// The dead letter that it goes on without, if there is one.
    without: Option<String>,
}

/// Lanes that stand or wait, those that need somebody first
#[utoipa::path(get, path = "/api/v1/lanes", tag = "operations",
    responses((status = 200, body = LanesForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let lanes = site.desk.lanes(LANES).await?;
    let items = lanes.iter().map(LaneForm::of).collect();
    Ok(Json(LanesForm { items }).into_response())
}

/// Park a lane: nothing of it goes out until it is resumed, and nothing is lost
#[utoipa::path(post, path = "/api/v1/lanes/park", tag = "operations", request_body = LaneActForm,
    responses((status = 200, body = ParkedForm), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn park(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Given(form): Given<LaneActForm>,
) -> Result<Response, Problem> {
    let act = form.act.act(&caller)?;
    let parked = site.desk.park_lane(&form.lane(), &act).await?;
    let parked = ParkedForm {
        changed: parked.new,
        hold: LaneHoldForm::of(&parked.hold),
    };
    Ok(Json(parked).into_response())
}

/// Let a lane go on that stands still, parked by hand or behind a dead letter, which stays one
#[utoipa::path(post, path = "/api/v1/lanes/resume", tag = "operations", request_body = LaneActForm,
    responses((status = 200, body = ResumedForm), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn resume(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Given(form): Given<LaneActForm>,
) -> Result<Response, Problem> {
    let act = form.act.act(&caller)?;
    let ended = site.desk.resume_lane(&form.lane(), None, &act).await?;
    let resumed = ResumedForm {
        changed: ended.is_some(),
        hold: ended
            .as_ref()
            .and_then(|ended| ended.hold.as_ref())
            .map(LaneHoldForm::of),
        without: ended
            .as_ref()
            .and_then(|ended| ended.without)
            .map(|id| id.to_string()),
    };
    Ok(Json(resumed).into_response())
}

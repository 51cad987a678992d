//! Dead letters, many at a time.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::{MessageId, desk::Filter, state::Status};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    super::{guard::Caller, problem::Problem, site::Site},
    extract::Given,
    filter::FilterBody,
    given::ActForm,
};

/// The most that are changed in one request: one transaction.
const MOST: u32 = 500;

/// Which dead letters, who, and why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ManyForm {
    /// Which. What is not a dead letter is left alone, whatever is said here.
    filter: FilterBody,
    /// At most this many, the oldest first: 1 to 500, and 500 if it is not given.
    #[schema(minimum = 1, maximum = 500)]
    at_most: Option<u32>,
    /// Only say how many match.
    #[serde(default)]
    preview: bool,
    #[serde(default)]
    act: ActForm,
}

/// What was done.
#[derive(Serialize, ToSchema)]
struct DoneForm {
    /// How many match the filter: before it was done.
    matching: u64,
    /// Those that it was done to.
    done: Vec<String>,
    /// What to know before they are redriven: some are older than inboxes keep ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

enum Way {
    Redrive,
    Discard,
}

/// Put dead letters back: pending, no attempts, due now
#[utoipa::path(post, path = "/api/v1/dead/redrive", tag = "dead letters", request_body = ManyForm,
    responses((status = 200, body = DoneForm)))]
pub(super) async fn redrive(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Given(form): Given<ManyForm>,
) -> Result<Response, Problem> {
    many(&site, &caller, form, &Way::Redrive).await
}

/// Give dead letters up; their rows stay, marked, until their retention is over
#[utoipa::path(post, path = "/api/v1/dead/discard", tag = "dead letters", request_body = ManyForm,
    responses((status = 200, body = DoneForm)))]
pub(super) async fn discard(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Given(form): Given<ManyForm>,
) -> Result<Response, Problem> {
    many(&site, &caller, form, &Way::Discard).await
}

async fn many(site: &Site, caller: &Caller, form: ManyForm, way: &Way) -> Result<Response, Problem> {
    let at_most = form.at_most.unwrap_or(MOST);
    if !(1..=MOST).contains(&at_most) {
        return Err(Problem::bad_request(format!(
            "at_most: must be a whole number from 1 to {MOST}"
        )));
    }
    let act = form.act.act(caller)?;
    if matches!(way, Way::Discard) && act.why.trim().is_empty() && !form.preview {
        return Err(Problem::bad_request(
            "act.why: must be given: it is all that will be left of them",
        ));
    }
    let filter = Filter {
        statuses: vec![Status::DeadLettered],
        ..Filter::try_from(form.filter)?
    };
    let matching = site.desk.count(&filter).await?;
    let warning = match way {
        Way::Redrive => site.forgotten_warning(&filter).await?,
        Way::Discard => None,
    };
    let at_most = at_most as usize;
    let done = match (form.preview, way) {
        (true, _) => Vec::new(),
        (false, Way::Redrive) => site.desk.redrive(&filter, at_most, &act).await?,
        (false, Way::Discard) => site.desk.discard(&filter, at_most, &act).await?,
    };
    let form = DoneForm {
        matching,
        done: done.iter().map(MessageId::to_string).collect(),
        warning,
    };
    Ok(Json(form).into_response())
}

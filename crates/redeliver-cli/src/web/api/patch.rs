//! Many dead letters changed in the same way.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::{
    desk::{Filter, NoSight, Patch, Sight},
    limits::PATCH_LIMIT,
    state::Status,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    super::{guard::Caller, problem::Problem, site::Site},
    extract::Given,
    filter::FilterBody,
    given::ActForm,
};
use crate::commands::outbox::dead::{self, PatchPreviewForm, PatchedForm};

/// What to change, and in which dead letters: a filter for the preview, then what the preview has seen.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PatchForm {
    /// Only show what would change, and how those are that it would be changed in.
    #[serde(default)]
    preview: bool,
    /// Which, for the preview. What is not a dead letter is left alone, whatever is said here.
    filter: Option<FilterBody>,
    /// At most this many, the oldest first, for the preview: 1 to 1000. More than 1000 are refused.
    #[schema(minimum = 1, maximum = 1000)]
    at_most: Option<u32>,
    /// Those that the preview has shown, as it has told them. Those that were changed since are left alone.
    #[schema(example = "41:0.2,42:0.0")]
    seen: Option<String>,
    /// A JSON Merge Patch of each payload: what it names is set, null removes it, what it does not name stays as it was written.
    #[serde(default)]
    #[schema(value_type = Object, example = json!({"currency": "EUR"}))]
    patch: Map<String, Value>,
    /// The new destination of each.
    destination: Option<String>,
    #[serde(default)]
    act: ActForm,
}

/// What would change, if that was asked; else what did.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum PatchAnswer<'a> {
    Previewed(PatchPreviewForm<'a>),
    Patched(PatchedForm<'a>),
}

/// Change many dead letters in the same way: what would change first, then those that are still as they were seen
#[utoipa::path(post, path = "/api/v1/dead/patch", tag = "dead letters", request_body = PatchForm,
    responses((status = 200, body = PatchAnswer)))]
pub(super) async fn patch(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Given(form): Given<PatchForm>,
) -> Result<Response, Problem> {
    let act = form.act.act(&caller)?;
    let patch = Patch {
        fields: form.patch,
        destination: form.destination,
    };
    if patch.is_empty() {
        return Err(Problem::bad_request(
            "nothing to change: patch must name a field, or destination another one",
        ));
    }
    dead::check_moved(&site.about.routes, patch.destination.as_deref())
        .map_err(|error| Problem::bad_request(error.to_string()))?;
    if form.preview {
        let filter = form
            .filter
            .ok_or_else(|| Problem::bad_request("filter: must be given: which dead letters?"))?;
        let filter = Filter {
            statuses: vec![Status::DeadLettered],
            ..Filter::try_from(filter)?
        };
        let at_most = at_most(form.at_most)?;
        let preview = site.desk.preview_patch(&filter, at_most).await?;
        let form = PatchPreviewForm::of(&preview, &patch, &site.about.routes);
        return Ok(Json(PatchAnswer::Previewed(form)).into_response());
    }
    let seen = form.seen.ok_or_else(|| {
        Problem::bad_request("seen: must be given, as a preview tells it: ask with preview first")
    })?;
    let sight = seen.parse::<Sight>();
    let sight = sight.map_err(|wrong: NoSight| Problem::bad_request(format!("seen: {wrong}")))?;
    let patched = site.desk.patch(&patch, &sight, &act).await?;
    Ok(Json(PatchAnswer::Patched(PatchedForm::of(&patched))).into_response())
}

fn at_most(given: Option<u32>) -> Result<Option<usize>, Problem> {
    let wrong = || Problem::bad_request(format!("at_most: must be a whole number from 1 to {PATCH_LIMIT}"));
    let within = |most: u32| {
        let most = usize::try_from(most).ok();
        most.filter(|most| (1..=PATCH_LIMIT).contains(most))
            .ok_or_else(wrong)
    };
    given.map(within).transpose()
}

//! What was, once more: events for a destination that came later, dead letters from elsewhere, and whether the audit trail is whole.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::{
    TopicPattern,
    desk::{AuditMark, Replay},
    limits::AUDIT_BATCH,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{
    super::{guard::Caller, problem::Problem, site::Site},
    extract::{Asked, Given},
    filter::{nothing_unknown, time},
    given::ActForm,
};
use crate::commands::outbox::dead;

/// So many entries are looked at in one request.
const ENTRIES: usize = 5_000;
/// So many dead letters are taken in one request.
const LETTERS: usize = 500;

/// Which events, and where to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayForm {
    /// The destination, which the configuration must have.
    to: String,
    /// The topics.
    #[schema(example = "orders.*")]
    topic: String,
    /// Inserted since then: so long ago, such as 7d, or a time.
    #[schema(example = "7d")]
    since: String,
    /// Inserted before then.
    until: Option<String>,
    /// Go on behind this event: the `next` of the request before.
    #[schema(minimum = 0)]
    after: Option<i64>,
    /// Only say how many it would be.
    #[serde(default)]
    preview: bool,
    #[serde(default)]
    act: ActForm,
}

/// What one step of a replay did.
#[derive(Serialize, ToSchema)]
struct ReplayedForm {
    /// The messages made, one an event.
    messages: u64,
    /// Events that have a message to the destination already.
    there_before: u64,
    /// Events whose payload the history has not kept.
    without_payload: u64,
    /// When the oldest event of the history was inserted.
    oldest_event_at: Option<String>,
    /// The `after` to go on with; none if this was all.
    next: Option<i64>,
}

/// Deliver events of the history once more, to a destination that came later; a bounded step at a time
#[utoipa::path(post, path = "/api/v1/replay", tag = "operations", request_body = ReplayForm,
    responses((status = 200, body = ReplayedForm)))]
pub(super) async fn replay(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Given(form): Given<ReplayForm>,
) -> Result<Response, Problem> {
    if site.about.routes.get(&form.to).is_none() {
        return Err(Problem::bad_request(
            "to: the configuration has no such destination",
        ));
    }
    let topic: TopicPattern = form
        .topic
        .parse()
        .map_err(|error: redeliver_outbox::InvalidTopic| Problem::bad_request(format!("topic: {error}")))?;
    let since =
        time("since", Some(&form.since))?.ok_or_else(|| Problem::bad_request("since: must be given"))?;
    let after = form.after.unwrap_or(0);
    if after < 0 {
        return Err(Problem::bad_request(
            "after: must be a number that a step gave as next",
        ));
    }
    let replay = Replay {
        to: form.to,
        topic,
        since,
        until: time("until", form.until.as_deref())?,
    };
    let act = form.act.act(&caller)?;
    let act = (!form.preview).then_some(&act);
    let step = site.desk.replay(&replay, after, act).await?;
    let form = ReplayedForm {
        messages: step.messages,
        there_before: step.there_before,
        without_payload: step.without_payload,
        oldest_event_at: step.oldest.map(|time| time.to_string()),
        next: step.next,
    };
    Ok(Json(form).into_response())
}

/// Dead letters from elsewhere.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportForm {
    /// 1 to 500 of them, each as `GET /api/v1/messages?status=dead_lettered&payloads=true` tells it.
    #[schema(value_type = Vec<serde_json::Value>, min_items = 1, max_items = 500)]
    letters: Vec<Box<RawValue>>,
    #[serde(default)]
    act: ActForm,
}

/// The dead letters that were taken.
#[derive(Serialize, ToSchema)]
struct ImportedForm {
    /// Their ids here, in the order in which they were given.
    imported: Vec<String>,
}

/// Take dead letters from elsewhere, all or none; they get new ids and stay dead until they are redriven
#[utoipa::path(post, path = "/api/v1/dead/import", tag = "dead letters", request_body = ImportForm,
    responses((status = 201, body = ImportedForm)))]
pub(super) async fn import(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Given(form): Given<ImportForm>,
) -> Result<Response, Problem> {
    if !(1..=LETTERS).contains(&form.letters.len()) {
        let rule = format!("letters: must be 1 to {LETTERS} at a time");
        return Err(Problem::bad_request(rule));
    }
    let mut letters = Vec::new();
    for (at, raw) in form.letters.iter().enumerate() {
        let (_, letter) =
            dead::letter(raw.get()).map_err(|rule| Problem::bad_request(format!("letters[{at}]: {rule}")))?;
        letters.push(letter);
    }
    let imported = site.desk.import(&letters, &form.act.act(&caller)?).await?;
    let form = ImportedForm {
        imported: imported.iter().map(ToString::to_string).collect(),
    };
    Ok((StatusCode::CREATED, Json(form)).into_response())
}

#[derive(Debug, Deserialize)]
pub(super) struct VerifyQuery {
    after: Option<String>,
    hash: Option<String>,
    #[serde(flatten)]
    unknown: BTreeMap<String, String>,
}

/// An entry of the audit trail, as the chain knows it.
#[derive(Serialize, ToSchema)]
struct MarkForm {
    number: i64,
    hash: String,
}

impl MarkForm {
    fn of(mark: AuditMark) -> Self {
        Self {
            number: mark.number,
            hash: mark.hash,
        }
    }
}

/// What one step of looking through the audit trail found.
#[derive(Serialize, ToSchema)]
struct VerifiedForm {
    /// How many entries fit.
    entries: usize,
    /// Entries from before there was a chain, if this is the first step: they prove nothing.
    older: u64,
    /// The newest entry, as the chain's head names it.
    head: Option<MarkForm>,
    /// The first thing that does not fit, in words.
    broken: Option<String>,
    /// changed, missing, reordered, inserted, truncated or headless.
    kind: Option<&'static str>,
    /// The `after` and `hash` to go on with; none if this was all.
    next: Option<MarkForm>,
}

/// Whether the audit trail is whole, a bounded step at a time
#[utoipa::path(get, path = "/api/v1/audit/verify", tag = "operations",
    params(("after" = Option<i64>, Query, description = "Go on behind this entry: the `next.number` of the step before", minimum = 0),
        ("hash" = Option<String>, Query, description = "Its hash: `next.hash`", pattern = "^[0-9a-f]{64}$")),
    responses((status = 200, body = VerifiedForm), (status = 400, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn verify(
    State(site): State<Arc<Site>>,
    Asked(query): Asked<VerifyQuery>,
) -> Result<Response, Problem> {
    nothing_unknown(&query.unknown)?;
    let after = match (query.after.as_deref().map(str::parse::<i64>), query.hash) {
        (None, None) => None,
        (Some(Ok(number)), Some(hash)) if number >= 0 && is_hash(&hash) => Some(AuditMark { number, hash }),
        _ => {
            let rule = "after and hash: must both be as a step gave them with next, or be left out";
            return Err(Problem::bad_request(rule));
        }
    };
    let mut step = site.desk.verify_audit(after, AUDIT_BATCH).await?;
    let (mut entries, mut older) = (step.fit.len(), step.older);
    while let Some(next) = step.next.take_if(|_| entries < ENTRIES) {
        step = site.desk.verify_audit(Some(next), AUDIT_BATCH).await?;
        entries += step.fit.len();
        older += step.older;
    }
    let form = VerifiedForm {
        entries,
        older,
        head: step.head.map(MarkForm::of),
        kind: step
            .broken
            .as_ref()
            .map(redeliver_outbox::desk::AuditBreak::as_str),
        broken: step.broken.map(|broken| broken.to_string()),
        next: step.next.map(MarkForm::of),
    };
    Ok(Json(form).into_response())
}

fn is_hash(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
}

//! Messages: looking for them, looking at one, inserting one, changing one.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::{
    MessageId, Payload, Timestamp,
    desk::{Detail, Edit, Enqueued, MessageRef},
    store::StoreErrorKind,
};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{
    super::{bounded, guard::Caller, problem::Problem, site::Site},
    extract::{Asked, Given, Named},
    filter::{FilterForm, ListQuery, Listing, PageForm},
    given::{EditForm, MessageForm},
};
use crate::commands::outbox::{
    dead, destination,
    form::{DetailForm, RecordForm},
    show::marked_secret,
    why,
};

/// One page of messages.
#[derive(Serialize, ToSchema)]
struct MessagesForm<'a> {
    items: Vec<RecordForm<'a>>,
    /// Where the next page begins: the `after` to ask for it with; none if there is no more. A page may have fewer items than its limit, or
    /// none, and another one behind it: what is rare is looked for a part at a time.
    next: Option<i64>,
    /// Whether everything was looked at.
    complete: bool,
}

/// How long a page is looked for.
const SEARCH_FOR: Duration = Duration::from_millis(500);

/// The message that was inserted, or the one that was there before.
#[derive(Serialize, ToSchema)]
struct EnqueuedForm {
    /// None if it was inserted before, and is forgotten.
    id: Option<String>,
    number: Option<i64>,
    /// Whether a message with this Idempotency-Key was there before: then nothing was inserted.
    duplicate: bool,
}

/// Where a message is, and what happens next.
#[derive(Serialize, ToSchema)]
struct WhyForm {
    id: String,
    status: &'static str,
    /// In one sentence.
    why: String,
}

/// Messages that match, by number
#[utoipa::path(get, path = "/api/v1/messages", tag = "messages",
    params(FilterForm, PageForm, ("payloads" = Option<bool>, Query, description = "Whether payloads come with the messages")),
    responses((status = 200, body = MessagesForm), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(
    State(site): State<Arc<Site>>,
    Asked(query): Asked<ListQuery>,
) -> Result<Response, Problem> {
    let listing = Listing::try_from(query)?;
    let found = site
        .desk
        .search(&listing.filter, listing.page, SEARCH_FOR)
        .await?;
    let (mut records, mut next, mut complete) = (found.records, found.next, found.complete);
    if listing.payloads {
        let (told, behind) = bounded::with_payloads(&*site.desk, &records, listing.page).await?;
        records = told;
        if behind.is_some() {
            (next, complete) = (behind, false);
        }
    }
    let page = MessagesForm {
        items: records.iter().map(RecordForm::of).collect(),
        next,
        complete,
    };
    Ok(Json(page).into_response())
}

/// Everything about one message
#[utoipa::path(get, path = "/api/v1/messages/{id}", tag = "messages",
    params(("id" = String, Path, description = "Its id, or its number",
        pattern = "^([0-9]{1,18}|[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$")),
    responses((status = 200, body = DetailForm), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn show(State(site): State<Arc<Site>>, Named(message): Named) -> Result<Response, Problem> {
    let detail = find(&site, message).await?;
    Ok(Json(DetailForm::of(&detail)).into_response())
}

/// Why a message is where it is, and what happens next, in one sentence
#[utoipa::path(get, path = "/api/v1/messages/{id}/why", tag = "messages",
    params(("id" = String, Path, description = "Its id, or its number",
        pattern = "^([0-9]{1,18}|[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$")),
    responses((status = 200, body = WhyForm), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn reason(
    State(site): State<Arc<Site>>,
    Named(message): Named,
) -> Result<Response, Problem> {
    let detail = find(&site, message).await?;
    let (record, now) = (&detail.record, Timestamp::wall());
    let obstacles = destination::overview::obstacles(&*site.desk, record, now).await?;
    let known = why::leads_somewhere(&site.about.routes, record);
    let form = WhyForm {
        id: record.id.to_string(),
        status: record.status.as_str(),
        why: why::sentence(&detail, known, obstacles.trouble.as_deref(), now) + &obstacles.refused,
    };
    Ok(Json(form).into_response())
}

/// The payload of a message, byte for byte
#[utoipa::path(get, path = "/api/v1/messages/{id}/payload", tag = "messages",
    params(("id" = String, Path, description = "Its id, or its number",
        pattern = "^([0-9]{1,18}|[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$")),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json", description = "It is marked secret"),
        (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn payload(
    State(site): State<Arc<Site>>,
    Named(message): Named,
) -> Result<Response, Problem> {
    let detail = find(&site, message).await?;
    if detail.record.hidden.is_some() {
        return Err(Problem::new(StatusCode::FORBIDDEN, marked_secret(&detail.record)));
    }
    let Some(payload) = detail.record.payload else {
        return Err(Problem::not_found(
            "the history has kept no payload of this message",
        ));
    };
    let bytes = match payload {
        Payload::Text(text) => text.into_bytes().into(),
        Payload::Binary(bytes) => bytes,
    };
    // Never as what it says it is: a browser must not run it.
    let kind = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
    ];
    Ok((kind, Body::from(bytes)).into_response())
}

/// Insert a message; with an Idempotency-Key, once however often it is asked for
#[utoipa::path(post, path = "/api/v1/messages", tag = "messages", request_body = MessageForm,
    params(("idempotency-key" = Option<String>, Header, description = "Of requests with the same one, only the first inserts")),
    responses((status = 201, body = EnqueuedForm, description = "It was inserted"),
        (status = 200, body = EnqueuedForm, description = "It was there before"),
        (status = 422, body = Problem, content_type = "application/problem+json", description = "The Idempotency-Key was used for another message")))]
pub(super) async fn enqueue(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
    Given(form): Given<MessageForm>,
) -> Result<Response, Problem> {
    let message = form.message(&headers)?;
    let mut enqueued = site.desk.enqueue(std::slice::from_ref(&message)).await?;
    let Some(enqueued) = enqueued.pop() else {
        return Err(Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "nothing was inserted",
        ));
    };
    let (status, id) = match enqueued {
        Enqueued::New(id) => (StatusCode::CREATED, Some(id)),
        Enqueued::Duplicate(id) => {
            if let Some(before) = id
                // Compared as it is, and not told.
                && let Some(detail) = site.revealed().find(MessageRef::Id(before)).await?
                && !form.is_like(&detail)
            {
                let detail =
                    format!("this Idempotency-Key was used for the message {before}, which is another one");
                return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
            }
            (StatusCode::OK, id)
        }
    };
    let form = EnqueuedForm {
        id: id.map(|id| id.to_string()),
        number: id.map(MessageId::number),
        duplicate: status == StatusCode::OK,
    };
    Ok((status, Json(form)).into_response())
}

/// Change a dead letter; the payload as it was inserted is kept
#[utoipa::path(patch, path = "/api/v1/messages/{id}", tag = "dead letters", request_body = EditForm,
    params(("id" = String, Path, description = "Its id, or its number",
        pattern = "^([0-9]{1,18}|[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$")),
    responses((status = 200, description = "It was changed"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json", description = "It is no dead letter any more")))]
pub(super) async fn edit(
    State(site): State<Arc<Site>>,
    caller: Caller,
    Named(message): Named,
    Given(form): Given<EditForm>,
) -> Result<Response, Problem> {
    let detail = find(&site, message).await?;
    let edit: Edit = form.edit()?;
    let nothing = Edit {
        seen: edit.seen,
        ..Edit::default()
    };
    if detail.record.dead_letter_reason.is_none() || edit == nothing {
        return Err(match detail.record.dead_letter_reason {
            None => Problem::new(
                StatusCode::CONFLICT,
                format!(
                    "only a dead letter can be changed, and it is {}",
                    detail.record.status
                ),
            ),
            Some(_) => Problem::bad_request(
                "nothing to change: give json, payload, payload_base64, content_type, headers or destination",
            ),
        });
    }
    let moved_to = edit.destination.as_deref();
    let moved_to = moved_to.filter(|to| *to != detail.record.destination);
    dead::check_edit(&edit, &detail)
        .and_then(|()| dead::check_moved(&site.about.routes, moved_to))
        .map_err(|error| Problem::bad_request(error.to_string()))?;
    let act = form.act(&caller)?;
    if let Err(error) = site.desk.edit(message, &edit, &act).await {
        // It was there a moment ago: so it is another one by now.
        return Err(match error.kind() {
            StoreErrorKind::NotFound => Problem::new(StatusCode::CONFLICT, error.to_string()),
            _ => error.into(),
        });
    }
    Ok(Json(json!({ "edited": detail.record.id.to_string() })).into_response())
}

async fn find(site: &Site, message: MessageRef) -> Result<Detail, Problem> {
    let found = site.desk.find(message).await?;
    found.ok_or_else(|| {
        Problem::not_found("there is no such message; what was sent is forgotten after its retention")
    })
}

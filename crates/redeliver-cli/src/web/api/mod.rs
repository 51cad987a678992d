//! The API under `/api/v1`: everything that the commands do, for programs.

mod dead;
mod destinations;
mod extract;
mod filter;
mod given;
mod history;
mod issues;
mod jobs;
mod lanes;
mod look;
mod messages;
mod patch;
mod standing;
mod status;

use std::sync::Arc;

use axum::{
    Json, Router,
    response::{IntoResponse as _, Response},
};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self, ContentBuilder, PathItem, Ref, ResponseBuilder,
        path::Operation,
        security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::site::Site;

/// What the document says besides the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "redeliver",
        description = "The operator's desk of a redeliver outbox. Errors are application/problem+json.",
        license(name = "MIT OR Apache-2.0")
    ),
    modifiers(&Token)
)]
struct Document;

struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let token = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("token", token);
    }
}

/// The routes, and the document that is made of them. `open` says that nobody is asked for a token.
pub(super) fn router(open: bool) -> (Router<Arc<Site>>, Arc<openapi::OpenApi>) {
    let (router, mut document) = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(status::status))
        .routes(routes!(messages::list, messages::enqueue))
        .routes(routes!(messages::show, messages::edit))
        .routes(routes!(messages::reason))
        .routes(routes!(messages::payload))
        .routes(routes!(dead::redrive))
        .routes(routes!(patch::patch))
        .routes(routes!(dead::discard))
        .routes(routes!(destinations::list))
        .routes(routes!(destinations::show))
        .routes(routes!(destinations::pause))
        .routes(routes!(destinations::resume))
        .routes(routes!(destinations::test))
        .routes(routes!(history::replay))
        .routes(routes!(history::import))
        .routes(routes!(history::verify))
        .routes(routes!(look::workers))
        .routes(routes!(look::audit))
        .routes(routes!(look::doctor))
        .routes(routes!(issues::list))
        .routes(routes!(issues::show))
        .routes(routes!(jobs::list, jobs::create))
        .routes(routes!(jobs::show))
        .routes(routes!(jobs::pause))
        .routes(routes!(jobs::resume))
        .routes(routes!(jobs::cancel))
        .routes(routes!(lanes::list))
        .routes(routes!(lanes::park))
        .routes(routes!(lanes::resume))
        .routes(routes!(standing::outlook))
        .routes(routes!(standing::storage))
        .split_for_parts();
    for path in document.paths.paths.values_mut() {
        for (operation, reading) in operations(path) {
            guarded(operation, reading);
        }
    }
    if !open {
        document.security = Some(vec![SecurityRequirement::new("token", [] as [&str; 0])]);
    }
    (router, Arc::new(document))
}

/// The operations of a path, and whether each only reads.
fn operations(path: &mut PathItem) -> impl Iterator<Item = (&mut Operation, bool)> {
    let reading = path.get.as_mut().map(|operation| (operation, true));
    let changing = [&mut path.post, &mut path.patch, &mut path.put, &mut path.delete];
    let changing = changing
        .into_iter()
        .filter_map(|operation| Some((operation.as_mut()?, false)));
    reading.into_iter().chain(changing)
}

/// What stands before every route may answer too.
fn guarded(operation: &mut Operation, reading: bool) {
    let mut answers = vec![
        ("401", "No token, or not one of [server.tokens]"),
        ("421", "Not a name that this server answers to"),
        ("503", "The database cannot be reached, or refuses"),
    ];
    if !reading {
        answers.push(("403", "The token may only look, or a page of another site asks"));
    }
    if operation.request_body.is_some() {
        answers.extend([
            ("400", "What was given makes no sense; the detail names it"),
            ("413", "The body is too large"),
            ("415", "The body is no JSON, by its Content-Type"),
        ]);
    }
    for (status, meaning) in answers {
        let answer = ResponseBuilder::new()
            .description(meaning)
            .content(
                "application/problem+json",
                ContentBuilder::new()
                    .schema(Some(Ref::from_schema_name("Problem")))
                    .build(),
            )
            .build();
        operation
            .responses
            .responses
            .entry(status.to_owned())
            .or_insert_with(|| answer.into());
    }
}

pub(super) async fn document(document: Arc<openapi::OpenApi>) -> Response {
    Json(&*document).into_response()
}

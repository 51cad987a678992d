//! The API under `/api/v1`: everything that the commands do, for programs.

mod dead;
mod destinations;
mod extract;
mod filter;
mod given;
mod look;
mod messages;
mod status;

use std::sync::Arc;

use axum::{
    Json, Router,
    response::{IntoResponse as _, Response},
};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self,
        security::{Http, HttpAuthScheme, SecurityScheme},
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
    modifiers(&Token),
    security(("token" = []), ())
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

/// The routes, and the document that is made of them.
pub(super) fn router() -> (Router<Arc<Site>>, Arc<openapi::OpenApi>) {
    let (router, document) = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(status::status))
        .routes(routes!(messages::list, messages::enqueue))
        .routes(routes!(messages::show, messages::edit))
        .routes(routes!(messages::reason))
        .routes(routes!(messages::payload))
        .routes(routes!(dead::redrive))
        .routes(routes!(dead::discard))
        .routes(routes!(destinations::list))
        .routes(routes!(destinations::show))
        .routes(routes!(destinations::pause))
        .routes(routes!(destinations::resume))
        .routes(routes!(look::workers))
        .routes(routes!(look::audit))
        .routes(routes!(look::doctor))
        .split_for_parts();
    (router, Arc::new(document))
}

pub(super) async fn document(document: Arc<openapi::OpenApi>) -> Response {
    Json(&*document).into_response()
}

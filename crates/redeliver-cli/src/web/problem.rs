//! What went wrong, for programs as `application/problem+json` and for people as a page.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use redeliver_outbox::store::{StoreError, StoreErrorKind};
use serde::Serialize;
use utoipa::ToSchema;

use super::guard::wants_page;
use crate::exit::{BadInput, NotFound};

/// What is shown of a detail: more is of no use to anybody.
const LONGEST: usize = 2_000;

/// Why a request was not done.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of problem, as a word that does not change: `not-found`, `bad-request`, `conflict`, …
    #[schema(example = "not-found")]
    r#type: &'static str,
    /// The kind of problem in words.
    #[schema(example = "Not Found")]
    title: &'static str,
    /// The status of the answer.
    #[schema(example = 404)]
    status: u16,
    /// What happened to which thing, and the next step.
    #[schema(example = "there is no message 42")]
    detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let kind = match status {
            StatusCode::BAD_REQUEST => "bad-request",
            StatusCode::UNAUTHORIZED => "no-token",
            StatusCode::FORBIDDEN => "not-allowed",
            StatusCode::NOT_FOUND => "not-found",
            StatusCode::METHOD_NOT_ALLOWED => "no-such-method",
            StatusCode::CONFLICT => "conflict",
            StatusCode::PAYLOAD_TOO_LARGE => "too-large",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "wrong-type",
            StatusCode::UNPROCESSABLE_ENTITY => "invalid",
            StatusCode::MISDIRECTED_REQUEST => "unknown-host",
            StatusCode::SERVICE_UNAVAILABLE => "database-unavailable",
            _ => "internal",
        };
        Self {
            r#type: kind,
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: crate::readable::line(&detail.into(), LONGEST),
        }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub(crate) const fn title(&self) -> &'static str {
        self.title
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"redeliver\""),
            );
        }
        if self.status == StatusCode::PAYLOAD_TOO_LARGE.as_u16() {
            // The rest of the body is not read: nobody should send another request behind it.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// What the database said. Its address is not told: it may be of use to whoever should not have it.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let status = match error.kind() {
            StoreErrorKind::BadInput => StatusCode::BAD_REQUEST,
            StoreErrorKind::NotFound => StatusCode::NOT_FOUND,
            StoreErrorKind::Conflict => StatusCode::CONFLICT,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        let error = match error.downcast::<StoreError>() {
            Ok(error) => return error.into(),
            Err(error) => error,
        };
        let status = match () {
            () if error.is::<BadInput>() => StatusCode::BAD_REQUEST,
            () if error.is::<NotFound>() => StatusCode::NOT_FOUND,
            () => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

/// The answer for whoever asked.
pub(super) fn answer(problem: Problem, path: &str) -> Response {
    match wants_page(path) {
        true => super::pages::problem(&problem),
        false => problem.into_response(),
    }
}

pub(super) async fn no_such_page(uri: axum::http::Uri) -> Response {
    let detail = format!("there is nothing at {}", uri.path());
    answer(Problem::not_found(detail), uri.path())
}

pub(super) async fn no_such_method(method: axum::http::Method, uri: axum::http::Uri) -> Response {
    let detail = format!("{} cannot be done with {method}", uri.path());
    answer(Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail), uri.path())
}

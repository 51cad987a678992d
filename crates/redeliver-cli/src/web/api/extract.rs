//! What a request brings. What is wrong with it is told as a problem that names the field.

use axum::{
    Json,
    extract::{FromRequest, FromRequestParts, Path, Query, Request, rejection::JsonRejection},
    http::{StatusCode, request::Parts},
};
use redeliver_outbox::desk::MessageRef;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::super::problem::Problem;

/// The parameters behind the question mark.
#[derive(Debug)]
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(asked) = Query::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
        Ok(Self(asked))
    }
}

/// A body of JSON.
#[derive(Debug)]
pub(super) struct Given<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Given<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Json(raw) = Json::<Box<RawValue>>::from_request(request, state)
            .await
            .map_err(|rejection| refused(&rejection))?;
        // A list of values in the right order would be taken for the object as well.
        if !raw.get().starts_with('{') {
            return Err(Problem::bad_request("the body must be a JSON object"));
        }
        serde_json::from_str(raw.get())
            .map(Self)
            .map_err(|error| Problem::bad_request(format!("the body: {error}")))
    }
}

fn refused(rejection: &JsonRejection) -> Problem {
    let status = match rejection {
        JsonRejection::MissingJsonContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        JsonRejection::BytesRejection(_) => rejection.status(),
        _ => StatusCode::BAD_REQUEST,
    };
    Problem::new(status, rejection.body_text())
}

/// The message that the address names, by its id or its number.
#[derive(Debug)]
pub(super) struct Named(pub(super) MessageRef);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
        text.parse()
            .map(Self)
            .map_err(|error: redeliver_outbox::NoMessageId| Problem::bad_request(error.to_string()))
    }
}

/// A name in the address, such as a destination's.
#[derive(Debug)]
pub(super) struct Called(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Called {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(name) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
        Ok(Self(name))
    }
}

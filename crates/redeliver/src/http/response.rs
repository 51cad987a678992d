use std::{fmt, time::Duration};

use bytes::Bytes;
use reqwest::{StatusCode, header::HeaderMap};
use serde::de::DeserializeOwned;

use super::{Error, error::Place};

/// A whole answer, body included.
#[derive(Clone)]
#[non_exhaustive]
pub struct Response {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, no longer than the client's limit.
    pub body: Bytes,
    /// Attempts that were made, this one included.
    pub attempts: u32,
    /// Time since the call began, waits included.
    pub elapsed: Duration,
    pub(crate) place: Place,
}

impl Response {
    /// The body read as JSON.
    ///
    /// # Errors
    /// A body of another shape; the error names the line and the column.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::decode(&self.place, error))
    }

    /// The body as text; bytes that are no UTF-8 become `�`.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl fmt::Debug for Response {
    /// Without headers and body, which may carry what no log should.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &self.headers.len())
            .field("body_bytes", &self.body.len())
            .field("attempts", &self.attempts)
            .field("elapsed", &self.elapsed)
            .finish()
    }
}

//! One request, read and ready for its handler.

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Uri};

use super::query::Query;

/// A request as the handlers see it.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Query,
    pub(crate) body: Bytes,
    /// The value of the path's last segment, where its row has one.
    pub(crate) value: String,
    pub(crate) rng: fastrand::Rng,
    pub(crate) upgrade: Option<OnUpgrade>,
}

impl Call {
    /// A header's text, if it is there once or more and is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

use std::{error::Error as StdError, fmt, sync::Arc};

use redeliver_policy::{Class, Classify};
use reqwest::{Method, StatusCode};

use super::Response;
use crate::{address::printable, cause};

/// What went wrong with one exchange.
///
/// Its text names the method and the URL without user, password and query values, and never a header.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    class: Class,
    place: Option<Place>,
    detail: String,
    response: Option<Response>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Where a request went, as errors show it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) method: Method,
    pub(crate) url: Arc<str>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be made: its URL, a header, or its body.
    Request,
    /// The client cannot be made.
    Setup,
    /// No connection came about, so nothing was sent.
    Connect,
    /// The transport's own timeout. An attempt cut by the policy is told by [`Ending::timed_out`](crate::Ending::timed_out).
    Timeout,
    /// The exchange broke off: a reset, a connection closed too early, a body cut short.
    Interrupted,
    /// Too many redirects.
    Redirect,
    /// An answer with a status that is no success; see [`Error::response`].
    Status,
    /// The body is longer than the client's limit.
    TooLarge,
    /// The body is not of the JSON shape expected.
    Decode,
}

impl ErrorKind {
    /// The kind as one word, as the `retry_attempt` event shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Setup => "setup",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
            Self::Redirect => "redirect",
            Self::Status => "status",
            Self::TooLarge => "too_large",
            Self::Decode => "decode",
        }
    }
}

impl Error {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The status, if there was an answer.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        self.0.response.as_ref().map(|response| response.status)
    }

    /// The answer of a [`Status`](ErrorKind::Status) error, with up to 64 KiB of its body.
    #[must_use]
    pub fn response(&self) -> Option<&Response> {
        self.0.response.as_ref()
    }

    /// What it means for a retry of a request that is not safe to repeat: only what never left may be sent again.
    pub(crate) fn unless_sent(mut self) -> Self {
        let never_left = self.0.kind == ErrorKind::Connect;
        if !never_left && self.0.class != Class::Permanent {
            self.0.class = Class::Unknown;
        }
        self
    }

    fn new(kind: ErrorKind, class: Class, place: Option<&Place>, detail: String) -> Self {
        Self(Box::new(Inner {
            kind,
            class,
            place: place.cloned(),
            detail,
            response: None,
            source: None,
        }))
    }

    fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    pub(crate) fn request(detail: String) -> Self {
        Self::new(ErrorKind::Request, Class::Permanent, None, detail)
    }

    pub(crate) fn setup(detail: String) -> Self {
        Self::new(ErrorKind::Setup, Class::Permanent, None, detail)
    }

    pub(crate) fn too_large(place: &Place, limit: usize) -> Self {
        let detail = format!("the body is larger than the limit of {limit} bytes");
        Self::new(ErrorKind::TooLarge, Class::Permanent, Some(place), detail)
    }

    pub(crate) fn decode(place: &Place, error: serde_json::Error) -> Self {
        let detail = format!("not the JSON expected: {}", printable(&error.to_string()));
        Self::new(ErrorKind::Decode, Class::Permanent, Some(place), detail).caused_by(error)
    }

    pub(crate) fn status_of(response: Response, class: Class) -> Self {
        let mut detail = response.status.to_string();
        if response.status.is_redirection() {
            detail.push_str(" (only GET and HEAD follow redirects)");
        }
        // Enough bytes for the longest snippet, whatever the characters.
        let start = &response.body[..response.body.len().min(1024)];
        let snippet = printable(&String::from_utf8_lossy(start));
        if !snippet.is_empty() {
            detail.push_str(": ");
            detail.push_str(&snippet);
        }
        let mut error = Self::new(ErrorKind::Status, class, Some(&response.place), detail);
        error.0.response = Some(response);
        error
    }

    /// What the transport says went wrong. Its own text names the whole URL, so that is taken out first.
    pub(crate) fn transport(place: &Place, error: reqwest::Error) -> Self {
        let error = error.without_url();
        let cause = cause::root(&error);
        let (kind, class, words) = if error.is_builder() {
            (ErrorKind::Request, Class::Permanent, "cannot be sent")
        } else if error.is_redirect() {
            (ErrorKind::Redirect, Class::Permanent, "cannot follow")
        } else if error.is_connect() {
            let class = match is_bad_certificate(&error) {
                true => Class::Permanent,
                false => Class::Transient,
            };
            (ErrorKind::Connect, class, "cannot connect")
        } else if error.is_timeout() {
            (ErrorKind::Timeout, Class::Unknown, "timed out")
        } else {
            (ErrorKind::Interrupted, Class::Unknown, "broke off")
        };
        let detail = format!("{words}: {}", printable(&cause));
        Self::new(kind, class, Some(place), detail).caused_by(error)
    }
}

/// No wait mends a certificate that is not trusted.
fn is_bad_certificate(error: &reqwest::Error) -> bool {
    cause::chain(error).any(|cause| {
        matches!(
            cause.downcast_ref::<rustls::Error>(),
            Some(rustls::Error::InvalidCertificate(_))
        )
    })
}

impl Classify for Error {
    fn class(&self) -> Class {
        self.0.class
    }

    fn kind(&self) -> &str {
        self.0.kind.as_str()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.0.place {
            write!(f, "{} {}: ", place.method, place.url)?;
        }
        f.write_str(&self.0.detail)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("class", &self.0.class)
            .field("text", &format_args!("{self}"))
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}

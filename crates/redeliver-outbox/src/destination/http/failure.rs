//! What an exchange without an answer means.

use std::{error::Error, time::Duration};

use redeliver::{address::printable, cause, duration};
use rustls::{AlertDescription as Alert, CertificateError, Error as Tls};

use super::{Outcome, connect::BoxError, stream::Beginning};

/// What stands before the words of a server that is none.
pub(super) const NO_HTTP_SERVER: &str = " is no HTTP server: it says ";

/// Why there is no answer.
pub(super) enum Failure {
    /// There was no connection.
    Unconnected(BoxError),
    Broken {
        error: hyper::Error,
        /// How the other side began.
        beginning: Beginning,
        /// Whether nothing of the request was written.
        unsent: bool,
    },
}

impl Failure {
    pub(super) fn error(&self) -> &(dyn Error + 'static) {
        match self {
            Self::Unconnected(error) => &**error,
            Self::Broken { error, .. } => error,
        }
    }
}

/// Only where nothing can have been sent is it certain that nothing arrived.
pub(super) fn broken(origin: &str, http2: bool, failure: &Failure) -> Outcome {
    let error = failure.error();
    let why = why(error);
    let (beginning, unsent) = match failure {
        Failure::Broken {
            beginning, unsent, ..
        } if !is_refusal(error) => (beginning, *unsent),
        _ => return unreachable(format!("cannot connect to {origin}: {why}")),
    };
    match stranger(origin, http2, beginning.bytes()) {
        Some(Stranger::Encrypted) => {
            return unreachable(format!(
                "{origin} speaks TLS and was spoken to without: its url must begin with https://"
            ));
        }
        Some(Stranger::Other) => {
            let said = printable(&String::from_utf8_lossy(beginning.bytes()));
            let reason = format!("what is at {origin}{NO_HTTP_SERVER}{said:?}");
            return Outcome::Ambiguous { reason, asked: None };
        }
        Some(Stranger::Older) => {
            return unreachable(format!("{origin} speaks no HTTP/2: leave http2 out"));
        }
        None => {}
    }
    if unsent {
        return unreachable(format!("the connection to {origin} broke before the send: {why}"));
    }
    let mut hyper = cause::chain(error).filter_map(|cause| cause.downcast_ref::<hyper::Error>());
    let reason = match hyper.any(hyper::Error::is_parse) {
        true => format!("what {origin} answers is no HTTP: {why}"),
        false => format!("the connection to {origin} broke before an answer came: {why}"),
    };
    Outcome::Ambiguous { reason, asked: None }
}

/// What is wrong, for somebody who can do something about it.
pub(super) fn why(error: &(dyn Error + 'static)) -> String {
    let root = cause::root(error);
    refusal(&root)
        .or_else(|| tls(error).and_then(encryption))
        .unwrap_or_else(|| printable(&root))
}

/// Whether the other side does not take us for who we are.
pub(super) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    refusal(&cause::root(error)).is_some()
}

/// What TLS says of it.
pub(super) fn tls<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Tls> {
    cause::chain(error).find_map(|cause| cause.downcast_ref::<Tls>())
}

/// The same of one that came to its limit.
pub(super) fn late(origin: &str, limit: Duration, connected: bool) -> Outcome {
    let limit = duration::display(limit);
    if !connected {
        return unreachable(format!("no connection to {origin} within {limit}"));
    }
    Outcome::Ambiguous {
        reason: format!("no answer from {origin} within {limit}"),
        asked: None,
    }
}

/// The same of one that did not get past the proxy.
pub(super) fn on_the_way(origin: &str, problem: &str) -> Outcome {
    unreachable(format!("cannot connect to {origin}: {problem}"))
}

pub(super) const fn unreachable(reason: String) -> Outcome {
    Outcome::Unreachable { reason }
}

/// What somebody who runs a relay can do about a failure of TLS.
fn encryption(error: &Tls) -> Option<String> {
    Some(match error {
        Tls::InvalidMessage(_) => {
            "what is there does not speak TLS; if it speaks plain HTTP, its url begins with http://"
                .to_owned()
        }
        Tls::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is not from an authority that is trusted; if it is yours, name it with ca"
                .to_owned()
        }
        Tls::InvalidCertificate(problem) => format!(
            "its certificate is not accepted: {}",
            printable(&problem.to_string())
        ),
        Tls::AlertReceived(Alert::NoApplicationProtocol) => {
            "it does not speak the version of HTTP that http2 asks for".to_owned()
        }
        _ => return None,
    })
}

/// How the other side ends a handshake because of who we are. In TLS 1.3 we learn it only after we began to send, and what we sent was
/// thrown away.
const REFUSALS: [Alert; 10] = [
    Alert::CertificateRequired,
    Alert::NoCertificate,
    Alert::BadCertificate,
    Alert::UnsupportedCertificate,
    Alert::CertificateRevoked,
    Alert::CertificateExpired,
    Alert::CertificateUnknown,
    Alert::UnknownCA,
    Alert::AccessDenied,
    Alert::DecryptError,
];

/// What somebody can do about such an end. It is known by its text, since HTTP/2 hands on nothing else of an error.
fn refusal(root: &str) -> Option<String> {
    let mut texts = REFUSALS
        .iter()
        .map(|alert| Tls::AlertReceived(*alert).to_string());
    let told = texts.find(|text| root.contains(text))?;
    Some(format!(
        "it wants a certificate of the client, or another one than client_certificate ({told})"
    ))
}

enum Stranger {
    Encrypted,
    /// HTTP, but not the version that was spoken to it.
    Older,
    Other,
}

/// Who it is that began like this, if it is no HTTP server.
fn stranger(origin: &str, http2: bool, beginning: &[u8]) -> Option<Stranger> {
    if origin.starts_with("https:") {
        return None;
    }
    let known = beginning.len().min(b"HTTP/1".len());
    if beginning[..known] == b"HTTP/1"[..known] {
        return (http2 && known > 0).then_some(Stranger::Older);
    }
    match beginning {
        // An alert or a handshake, of any version of TLS.
        [0x15 | 0x16, 0x03, ..] => Some(Stranger::Encrypted),
        // The frame SETTINGS, with which a server begins HTTP/2.
        [_, _, _, 0x04, 0x00, ..] => None,
        _ => Some(Stranger::Other),
    }
}

use std::{fmt, io, time::Duration};

use redeliver_policy::{Class, Classify, classify, classify::StatusTable, duration::display, retry_after};
use tokio_tungstenite::tungstenite::{
    self,
    error::{CapacityError, ProtocolError},
    handshake::client::Response,
};

use crate::clock;

/// Why there is no WebSocket connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum WebSocketError {
    /// The request makes no sense: what of it, and what is allowed.
    Invalid(String),
    /// The handshake was answered with something else than an upgrade.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The wait that the answer asked for.
        retry_after: Option<Duration>,
    },
    /// What answered does not speak WebSocket.
    NotWebSocket(String),
    /// The other side closed, and not with the code 1000 of a normal end.
    Closed {
        /// The close code, if there was one.
        code: Option<u16>,
        /// The other side's words.
        reason: String,
    },
    /// The connection ended without a close.
    Dropped,
    /// Nothing came for this long, pongs included.
    Silent(Duration),
    /// A message is larger than this many bytes.
    TooLarge(usize),
    /// The other side broke the protocol.
    Protocol(String),
    /// The network failed.
    Io(io::Error),
}

impl WebSocketError {
    /// A failure while connecting.
    pub(super) fn connecting(error: tungstenite::Error) -> Self {
        use tungstenite::Error;
        match error {
            Error::Http(response) => Self::refused(&response),
            Error::Protocol(ProtocolError::HandshakeIncomplete) => Self::Dropped,
            Error::Protocol(error) => Self::NotWebSocket(error.to_string()),
            Error::HttpFormat(error) => Self::NotWebSocket(error.to_string()),
            Error::Url(error) => Self::Invalid(error.to_string()),
            error => Self::up(error),
        }
    }

    /// A failure of a connection that was up.
    pub(super) fn up(error: tungstenite::Error) -> Self {
        use tungstenite::Error;
        match error {
            Error::ConnectionClosed
            | Error::AlreadyClosed
            | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => Self::Dropped,
            Error::Io(error) => Self::Io(error),
            Error::Capacity(CapacityError::MessageTooLong { max_size, .. }) => Self::TooLarge(max_size),
            error => Self::Protocol(error.to_string()),
        }
    }

    fn refused(response: &Response) -> Self {
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let asked = header("retry-after");
        Self::Refused {
            status: response.status().as_u16(),
            retry_after: asked.and_then(|asked| retry_after::parse(asked, header("date"), clock::wall())),
        }
    }
}

impl Classify for WebSocketError {
    fn class(&self) -> Class {
        match self {
            Self::Invalid(_) | Self::NotWebSocket(_) | Self::TooLarge(_) | Self::Protocol(_) => {
                Class::Permanent
            }
            Self::Refused { status, retry_after } => StatusTable::DEFAULT.class(*status, *retry_after),
            Self::Closed {
                code: Some(1002 | 1003 | 1007..=1010 | 3000 | 3003),
                ..
            } => Class::Permanent,
            Self::Closed { .. } | Self::Dropped | Self::Silent(_) => Class::Transient,
            // A name that cannot be looked up for now has no kind of its own.
            Self::Io(error) => match error.class() {
                Class::Permanent => classify::by_text(&error.to_string()),
                class => class,
            },
        }
    }

    fn kind(&self) -> &str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::Refused { .. } => "Refused",
            Self::NotWebSocket(_) => "NotWebSocket",
            Self::Closed { .. } => "Closed",
            Self::Dropped => "Dropped",
            Self::Silent(_) => "Silent",
            Self::TooLarge(_) => "TooLarge",
            Self::Protocol(_) => "Protocol",
            Self::Io(_) => "Io",
        }
    }
}

impl fmt::Display for WebSocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(words) => f.write_str(words),
            Self::Refused { status, .. } => write!(f, "the handshake was refused with status {status}"),
            Self::NotWebSocket(words) => write!(f, "the server does not speak WebSocket: {words}"),
            Self::Closed { code, reason } => {
                match code {
                    Some(code) => write!(f, "the server closed with code {code}")?,
                    None => f.write_str("the server closed without a code")?,
                }
                if reason.is_empty() {
                    Ok(())
                } else {
                    write!(f, ": {reason}")
                }
            }
            Self::Dropped => f.write_str("the connection ended without a close"),
            Self::Silent(longest) => write!(f, "nothing came for {}", display(*longest)),
            Self::TooLarge(most) => write!(f, "a message is larger than the {most} bytes allowed"),
            Self::Protocol(words) => write!(f, "the protocol was broken: {words}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WebSocketError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(code: u16) -> WebSocketError {
        WebSocketError::Closed {
            code: Some(code),
            reason: String::new(),
        }
    }

    #[test]
    fn close_codes_that_blame_the_client_are_permanent() {
        for code in [1002, 1003, 1007, 1008, 1009, 1010, 3000, 3003] {
            assert_eq!(closed(code).class(), Class::Permanent, "{code}");
        }
        for code in [1001, 1006, 1011, 1012, 1013, 1014, 4000] {
            assert_eq!(closed(code).class(), Class::Transient, "{code}");
        }
    }

    #[test]
    fn a_refusal_is_judged_by_its_status_and_its_own_wait() {
        let refused = |status, retry_after: Option<&str>| {
            let mut response = Response::new(None);
            *response.status_mut() = tungstenite::http::StatusCode::from_u16(status).unwrap();
            if let Some(after) = retry_after {
                response
                    .headers_mut()
                    .insert("retry-after", after.parse().unwrap());
            }
            WebSocketError::connecting(tungstenite::Error::Http(Box::new(response))).class()
        };
        assert_eq!(refused(200, None), Class::Permanent);
        assert_eq!(refused(401, Some("3")), Class::Permanent);
        assert_eq!(refused(408, None), Class::Transient);
        assert_eq!(refused(503, None), Class::THROTTLED);
        assert_eq!(
            refused(429, Some("3")),
            Class::throttled_for(Duration::from_secs(3))
        );
        assert_eq!(
            refused(502, Some("7")),
            Class::throttled_for(Duration::from_secs(7))
        );
    }

    #[test]
    fn a_name_that_cannot_be_looked_up_for_now_comes_back() {
        let lookup = |text: &str| {
            WebSocketError::Io(io::Error::new(io::ErrorKind::InvalidInput, text.to_owned())).class()
        };
        assert_eq!(
            lookup("failed to lookup address information: Temporary failure in name resolution"),
            Class::Transient
        );
        assert_eq!(
            lookup("failed to lookup address information: Name or service not known"),
            Class::Transient
        );
        assert_eq!(lookup("invalid socket address"), Class::Permanent);
    }
}

use std::{fmt, time::Duration};

use redeliver_policy::{Class, duration::display};

use crate::Classifier;

/// What happens to a stream that reconnects, if one asks for [`events`](super::Reconnecting::events).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent<T, E> {
    /// A connection was made.
    Connected(Connection),
    /// The connection gave an item.
    Item(T),
    /// A connection was lost, or could not be made; the next follows after its wait.
    Disconnected(Disconnection<E>),
}

/// A connection that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connection {
    /// Its number, failed attempts counted: 1 for the first.
    pub number: u64,
    /// Time without a connection before it: since the last was lost, or since the stream began.
    pub down_for: Duration,
}

/// A connection that was lost, or that could not be made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Disconnection<E> {
    /// What ended it.
    pub cause: Cause<E>,
    /// What that means for the next.
    pub class: Class,
    /// The number of the connection, as [`Connect::number`](super::Connect::number) gave it.
    pub number: u64,
    /// Failures since the count last started again, this one included.
    pub failures: u32,
    /// How long it was up; `None` if it never was.
    pub up_for: Option<Duration>,
    /// Items it gave.
    pub items: u64,
    /// The wait before the next.
    pub wait: Duration,
}

/// What ended a connection, or kept it from being made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cause<E> {
    /// The factory or the stream failed.
    Error(E),
    /// The stream ended without an error, and that counts as a loss
    /// ([`reconnect_on_end`](super::Reconnecting::reconnect_on_end)).
    Ended,
    /// Connecting took longer than this.
    ConnectTimeout(Duration),
    /// Nothing came for this long.
    Idle(Duration),
}

impl<E> Cause<E> {
    pub(super) fn class(&self, classifier: &impl Classifier<E>) -> Class {
        match self {
            Self::Error(error) => classifier.class(error),
            Self::Ended => Class::Transient,
            Self::ConnectTimeout(_) | Self::Idle(_) => Class::Unknown,
        }
    }

    pub(super) fn kind(&self, classifier: &impl Classifier<E>) -> String {
        match self {
            Self::Error(error) => classifier.kind(error).to_owned(),
            Self::Ended => "Ended".to_owned(),
            Self::ConnectTimeout(_) => "Timeout".to_owned(),
            Self::Idle(_) => "Idle".to_owned(),
        }
    }

    pub(super) const fn is_timeout(&self) -> bool {
        matches!(self, Self::ConnectTimeout(_) | Self::Idle(_))
    }

    /// The error, if it was one.
    pub fn into_error(self) -> Option<E> {
        match self {
            Self::Error(error) => Some(error),
            _ => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Cause<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => error.fmt(f),
            Self::Ended => f.write_str("the stream ended"),
            Self::ConnectTimeout(limit) => write!(f, "connecting took longer than {}", display(*limit)),
            Self::Idle(limit) => write!(f, "nothing came for {}", display(*limit)),
        }
    }
}

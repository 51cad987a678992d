//! Where messages go. A destination tries once and says what came of it; it never sleeps and never retries.

use std::{fmt, time::Duration};

use futures_core::future::BoxFuture;
use redeliver::Class;

use crate::{DeadReason, Message, desk::Finding, trace::Span};

mod examine;
mod handler;
mod headers;
#[cfg(feature = "http")]
mod http;
mod log;
mod manners;
mod route;
#[cfg(feature = "schema")]
mod schema;

pub(crate) use examine::{KEY_IS_NO_TEXT, unknown};
pub use examine::{Refusal, examine, fits};
pub use handler::{Handler, IntoOutcome, OwnedDelivery};
pub use headers::check_name as check_header_name;
#[cfg(feature = "http")]
pub use http::{ClientCredentials, Http, HttpBuilder, InvalidHttp, webhook};
pub use log::{HidingLog, Log};
pub use manners::{Manners, SurgeRule};
pub use route::{Expects, LanePolicy, NoLanePolicy, Route, Routes};
#[cfg(feature = "schema")]
pub use schema::{InvalidSchema, json_schema};

/// One attempt to deliver one message.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The message.
    pub message: &'a Message,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// How long it may take; the engine cuts it off a little later, unless the destination [keeps time](Destination::keeps_time).
    pub timeout: Duration,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The destination has taken it.
    Delivered,
    /// It did not, and may later. A hint of the destination when to come back is in the class (`Class::Throttled`).
    Retry {
        /// What kind of failure it was.
        class: Class,
        /// What happened, for the operator. No secret, no more than a line.
        reason: String,
    },
    /// It could not be reached: no name, no connection, no TLS, no token. It never saw the message, which has no part in the failure.
    Unreachable {
        /// What happened, for the operator. No secret, no more than a line.
        reason: String,
    },
    /// It never will.
    Reject {
        /// The kind of refusal.
        kind: DeadReason,
        /// What happened, for the operator.
        reason: String,
    },
    /// It takes nothing any more, and says so for good. The message is kept: no wait mends it, but an operator may.
    Disable {
        /// What happened, for the operator.
        reason: String,
    },
    /// It may have taken it: the answer is missing, or leaves that open. Tried again where the destination bears the same message twice.
    Ambiguous {
        /// What happened, for the operator.
        reason: String,
        /// When to come back, if it said so: kept to as that of `Class::Throttled` is.
        asked: Option<Duration>,
    },
}

/// What came of an attempt, for somebody who tests a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trial {
    /// What came of it.
    pub outcome: Outcome,
    /// What it answered, where there is such a thing.
    pub answer: Option<Answer>,
}

/// What a destination answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The status, as the protocol counts.
    pub status: u16,
    /// The protocol that was spoken, such as `HTTP/2`.
    pub protocol: &'static str,
    /// The start of what it said, in one line: no control characters, and none of the secrets that it was sent.
    pub said: String,
}

/// Something that takes messages.
pub trait Destination: Send + Sync + fmt::Debug {
    /// Tries once. Dropping the future ends the attempt.
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome>;

    /// Tries once as [`deliver`](Self::deliver) does, as part of a trace: whoever takes the message is told of the span.
    fn deliver_in<'a>(&'a self, span: &'a Span, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        let _ = span;
        self.deliver(delivery)
    }

    /// Whether an attempt ends by itself in its time. One that may not is cut off a little later.
    fn keeps_time(&self) -> bool {
        false
    }

    /// What kind it is, as the configuration names it: `http`, `log`, `handler`.
    fn kind(&self) -> &'static str;

    /// The end of a reason that this destination gave, as far as it may be what the other side said, and so what that was sent: all of it,
    /// unless the destination knows better.
    fn words<'r>(&self, reason: &'r str) -> &'r str {
        reason
    }

    /// Looks for what would keep messages from arriving, without sending one: names, connections, certificates, proofs of who we are. It is
    /// done within `limit`. Nothing is found where there is nothing to look at.
    fn probe(&self, limit: Duration) -> BoxFuture<'_, Vec<Finding>> {
        let _ = limit;
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Tries once as [`deliver`](Self::deliver) does, and keeps what was answered.
    fn trial<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Trial> {
        Box::pin(async move {
            Trial {
                outcome: self.deliver(delivery).await,
                answer: None,
            }
        })
    }
}

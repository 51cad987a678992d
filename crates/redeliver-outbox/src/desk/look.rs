//! What an operator looks at: quick also where there are millions of rows.

use std::fmt;

use futures_core::future::BoxFuture;

use crate::{DeadReason, Fingerprint, MessageId, Timestamp, store::Result};

/// Dead letters that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What it is called; [`Fingerprint::UNGROUPED`] for those that have not been looked at yet, which need have nothing in common.
    pub fingerprint: Fingerprint,
    /// Where they were to go; empty if they are events.
    pub destination: String,
    /// Why they were quarantined; none if a later version has another word for it.
    pub reason: Option<DeadReason>,
    /// What the newest of them met.
    pub error: String,
    /// How many there are that nobody has given up.
    pub count: u64,
    /// When the oldest of them was quarantined.
    pub first_seen: Timestamp,
    /// When the newest was.
    pub last_seen: Timestamp,
    /// The newest.
    pub sample: MessageId,
    /// How many lanes stand still for one of them.
    pub parked_lanes: u64,
}

/// An issue, and how it went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueDetail {
    /// The issue.
    pub issue: Issue,
    /// How many were quarantined in each of the last 24 hours, the oldest hour first.
    pub hours: [u64; 24],
}

/// The half of the desk that changes nothing.
pub trait Look: Send + Sync + fmt::Debug {
    /// The issues that the dead letters are of, those with the most letters first.
    fn issues(&self, limit: usize) -> BoxFuture<'_, Result<Vec<Issue>>>;

    /// One of them; none if no dead letter is of it.
    fn issue(&self, fingerprint: Fingerprint) -> BoxFuture<'_, Result<Option<IssueDetail>>>;
}

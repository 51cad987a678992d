//! What the server has done, in figures and as one record per request.

use std::collections::BTreeMap;

use serde::Serialize;

/// Everything counted since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FaultyStats {
    /// Connections accepted.
    pub connections: u64,
    /// Requests whose head was read.
    pub requests: u64,
    /// Figures by path, in the table's spelling (`/status/{code}`).
    pub routes: BTreeMap<&'static str, RouteStats>,
    /// What happened to payments.
    pub payments: PaymentStats,
    /// Requests by idempotency key; the oldest keys are forgotten beyond 65,536.
    pub idempotency_keys: BTreeMap<String, u64>,
}

/// Figures of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteStats {
    /// Requests, those in flight included.
    pub requests: u64,
    /// Served without an injected fault.
    pub successes: u64,
    /// Served with one.
    pub failures: u64,
    /// Left by the client before the server was done.
    pub abandoned: u64,
    /// Items sent on streams.
    pub items: u64,
    /// Failures by fault.
    pub faults: BTreeMap<&'static str, u64>,
}

/// Figures of `/payment/authorize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PaymentStats {
    /// Payments authorized, each once: a replay is none.
    pub authorized: u64,
    /// Answers given again for a key that was authorized before.
    pub replayed: u64,
    /// Payments authorized whose answer was lost on purpose.
    pub answers_lost: u64,
}

/// One request, told when the server is done with it (a hang: when it begins).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestRecord {
    /// When it came, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Its number in order of arrival, from 0.
    pub number: u64,
    /// Its method.
    pub method: String,
    /// Its path without the query.
    pub path: String,
    /// The fault injected; `client-gone` if the client left first.
    pub fault: Option<&'static str>,
    /// The status answered, if one was.
    pub status: Option<u16>,
    /// How long it was delayed on purpose.
    pub delay_ms: u64,
    /// Items sent, on a stream.
    pub items: u64,
    /// Its `Idempotency-Key`, if it has one of at most 255 characters.
    pub idempotency_key: Option<String>,
}

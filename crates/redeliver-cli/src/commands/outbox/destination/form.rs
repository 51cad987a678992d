//! What destinations look like in JSON.

use redeliver_outbox::{
    Hold,
    live::{Failures, LiveFigures, StuckVerdict},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{super::status::FiguresForm, overview::Overview, trial::Tried};

/// A hold.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HoldForm<'a> {
    destination: &'a str,
    kind: &'static str,
    cause: &'static str,
    detail: &'a str,
    who: &'a str,
    since: String,
}

impl<'a> HoldForm<'a> {
    pub(crate) fn of(hold: &'a Hold) -> Self {
        Self {
            destination: &hold.destination,
            kind: hold.kind.as_str(),
            cause: hold.cause.as_str(),
            detail: &hold.detail,
            who: &hold.who,
            since: hold.since.to_string(),
        }
    }
}

/// How many attempts of the last minute failed, by what they met.
#[derive(Debug, Serialize, ToSchema)]
struct FailuresForm {
    /// No connection or no answer in time.
    timeout: u64,
    /// Nobody listens there.
    refused: u64,
    /// No connection for another reason, or one that broke: names, certificates, resets.
    connection: u64,
    /// It asks for fewer requests: 429 and the like.
    throttled: u64,
    /// Another status from 400 to 499.
    client_error: u64,
    /// A status from 500 on.
    server_error: u64,
    other: u64,
}

impl FailuresForm {
    const fn of(failures: &Failures) -> Self {
        Self {
            timeout: failures.timeout,
            refused: failures.refused,
            connection: failures.connection,
            throttled: failures.throttled,
            client_error: failures.client_error,
            server_error: failures.server_error,
            other: failures.other,
        }
    }
}

/// How workers find a destination.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LiveForm<'a> {
    state: &'static str,
    in_flight: u64,
    limit: u64,
    ceiling: u64,
    rate: Option<f64>,
    delivered_per_second: f64,
    failed_per_second: f64,
    /// What the attempts of the last minute met that failed.
    failures: FailuresForm,
    latency_p50_ms: Option<f64>,
    latency_p99_ms: Option<f64>,
    held: u64,
    /// Verdicts that the database refuses now.
    stuck: u64,
    /// The first of them.
    stuck_verdicts: Vec<StuckForm<'a>>,
    until: Option<String>,
    /// Since when its circuit is open, if it is.
    since: Option<String>,
    detail: &'a str,
}

/// A verdict that the database refuses.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StuckForm<'a> {
    id: String,
    number: i64,
    since: String,
    reason: &'a str,
}

impl<'a> StuckForm<'a> {
    fn of(stuck: &'a StuckVerdict) -> Self {
        Self {
            id: stuck.id.to_string(),
            number: stuck.id.number(),
            since: stuck.since.to_string(),
            reason: &stuck.reason,
        }
    }
}

impl<'a> LiveForm<'a> {
    pub(crate) fn of(live: &'a LiveFigures) -> Self {
        Self {
            state: live.state.as_str(),
            in_flight: live.in_flight,
            limit: live.limit,
            ceiling: live.ceiling,
            rate: live.rate,
            delivered_per_second: live.delivered_per_second,
            failed_per_second: live.failed_per_second,
            failures: FailuresForm::of(&live.failures),
            latency_p50_ms: live.latency_p50_ms,
            latency_p99_ms: live.latency_p99_ms,
            held: live.held,
            stuck: live.stuck,
            stuck_verdicts: live.stuck_verdicts.iter().map(StuckForm::of).collect(),
            until: live.until.map(|until| until.to_string()),
            since: live.since.map(|since| since.to_string()),
            detail: &live.detail,
        }
    }
}

/// All of a destination.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DestinationForm<'a> {
    destination: &'a str,
    configured: bool,
    state: Option<&'static str>,
    hold: Option<HoldForm<'a>>,
    live: Option<LiveForm<'a>>,
    #[serde(flatten)]
    figures: FiguresForm,
}

impl<'a> DestinationForm<'a> {
    pub(crate) fn of(overview: &'a Overview) -> Self {
        let known = overview.hold.is_some() || overview.live.is_some();
        Self {
            destination: &overview.name,
            configured: overview.configured,
            state: known.then(|| overview.state()),
            hold: overview.hold.as_ref().map(HoldForm::of),
            live: overview.live.as_ref().map(LiveForm::of),
            figures: FiguresForm::of(&overview.figures),
        }
    }
}

/// What came of a message that was sent to see.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TriedForm<'a> {
    destination: &'a str,
    id: String,
    /// delivered, retry, rejected, disabled or ambiguous.
    outcome: &'static str,
    reason: Option<&'a str>,
    took_ms: u64,
    status: Option<u16>,
    protocol: Option<&'a str>,
    said: Option<&'a str>,
}

impl<'a> TriedForm<'a> {
    pub(crate) fn of(destination: &'a str, tried: &'a Tried) -> Self {
        let answer = tried.trial.answer.as_ref();
        Self {
            destination,
            id: tried.id.to_string(),
            outcome: tried.word(),
            reason: tried.reason(),
            took_ms: u64::try_from(tried.took.as_millis()).unwrap_or(u64::MAX),
            status: answer.map(|answer| answer.status),
            protocol: answer.map(|answer| answer.protocol),
            said: answer.map(|answer| answer.said.as_str()),
        }
    }
}

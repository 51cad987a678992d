use std::time::Duration;

use super::{error::ConfigError, section::Section};
use crate::{
    desk::Retention,
    limits,
    store::{History, Names},
};

/// How the relay works: the table `[relay]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelaySettings {
    /// How long a silent worker keeps its shards.
    pub lease: Duration,
    /// The most messages that a relay holds.
    pub window: usize,
    /// The most bytes of messages that a relay holds.
    pub window_bytes: usize,
    /// How many sends go to one destination at a time, unless the destination says otherwise.
    pub concurrency: usize,
    /// How many workers this process runs.
    pub workers: usize,
    /// How long a stopping relay waits for what it is sending.
    pub shutdown: Duration,
    /// How late an idle relay looks again.
    pub poll_latest: Duration,
    /// Whether what was sent is kept in the history.
    pub history: bool,
    /// Whether the history keeps payloads too.
    pub history_payloads: bool,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self {
            lease: limits::LEASE,
            window: limits::WINDOW,
            window_bytes: limits::WINDOW_BYTES,
            concurrency: limits::CONCURRENCY,
            workers: limits::WORKERS,
            shutdown: limits::SHUTDOWN,
            poll_latest: limits::POLL_LATEST,
            history: true,
            history_payloads: true,
        }
    }
}

impl RelaySettings {
    /// What is kept of messages that arrived.
    #[must_use]
    pub const fn kept(&self) -> History {
        match (self.history, self.history_payloads) {
            (false, _) => History::Off,
            (true, false) => History::WithoutPayloads,
            (true, true) => History::Full,
        }
    }
}

const RELAY: &[&str] = &[
    "lease",
    "window",
    "window_bytes",
    "concurrency",
    "workers",
    "shutdown",
    "poll_latest",
    "history",
    "history_payloads",
];

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

pub(super) fn relay(section: Option<Section<'_, '_>>) -> Result<RelaySettings, ConfigError> {
    let mut relay = RelaySettings::default();
    let Some(section) = section else {
        return Ok(relay);
    };
    section.only(RELAY)?;
    for (name, field) in section.fields() {
        match name {
            "lease" => relay.lease = field.duration(SECOND..=HOUR)?,
            "window" => relay.window = field.count(1..=1_000_000)?,
            "window_bytes" => relay.window_bytes = field.size(limits::PAYLOAD_LIMIT..=64 << 30)?,
            "concurrency" => relay.concurrency = field.count(1..=10_000)?,
            "workers" => relay.workers = field.count(1..=256)?,
            "shutdown" => relay.shutdown = field.duration(Duration::ZERO..=HOUR)?,
            "poll_latest" => relay.poll_latest = field.duration(limits::POLL_SOONEST..=MINUTE)?,
            "history" => relay.history = field.flag()?,
            _ => relay.history_payloads = field.flag()?,
        }
    }
    Ok(relay)
}

pub(super) fn retention(section: Option<Section<'_, '_>>) -> Result<Retention, ConfigError> {
    let mut retention = Retention {
        sent: Some(limits::HISTORY_RETENTION),
        discarded: Some(limits::HISTORY_RETENTION),
        inbox: Some(limits::DEDUPLICATION_RETENTION),
        audit: None,
    };
    let Some(section) = section else {
        return Ok(retention);
    };
    section.only(&["sent", "discarded", "inbox", "audit"])?;
    for (name, field) in section.fields() {
        let kept = match field.value.as_str() {
            Some("forever") => None,
            _ => Some(field.duration(SECOND..=CENTURY)?),
        };
        match name {
            "sent" => retention.sent = kept,
            "discarded" => retention.discarded = kept,
            "inbox" => retention.inbox = kept,
            _ => retention.audit = kept,
        }
    }
    Ok(retention)
}

/// The names of the tables. What is wrong with one is told at the field that it stands in.
pub(super) fn names(root: &Section<'_, '_>) -> Result<Names, ConfigError> {
    let (mut schema, mut prefix) = (None, Names::default().prefix().to_owned());
    if let Some(field) = root.get("schema") {
        schema = Some(field.text()?);
        Names::new(schema, &prefix).map_err(|error| field.refuse(error.to_string()))?;
    }
    if let Some(field) = root.get("prefix") {
        prefix = field.text()?.to_owned();
        Names::new(schema, &prefix).map_err(|error| field.refuse(error.to_string()))?;
    }
    Names::new(schema, &prefix).map_err(|error| root.refuse(error.to_string()))
}

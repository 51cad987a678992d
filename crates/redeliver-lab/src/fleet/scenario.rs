use std::time::Duration;

use redeliver_policy::duration;
use serde::Serialize;

use crate::{OutOfRange, range::require};

/// The most clients of a fleet.
pub const MAX_CLIENTS: u32 = 1_000_000;
/// The fewest requests a second that a server can work off.
pub const MIN_CAPACITY: f64 = 0.1;
/// The most requests a second that a server can work off.
pub const MAX_CAPACITY: f64 = 10_000_000.0;
/// The longest run.
pub const MAX_RUN: Duration = Duration::from_secs(24 * 3_600);
/// The most events that one policy's run may come to: about half a minute's work.
pub const MAX_EVENTS: u64 = 100_000_000;
/// What a run must have left after the outage, so that there is something to see of the recovery.
pub const SETTLE_TIME: Duration = Duration::from_secs(10);
/// The most requests that may wait at a server.
pub const MAX_QUEUE: u32 = 10_000_000;

/// How the server fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutageKind {
    /// It is gone: what it had is reset, what comes is refused at once.
    #[default]
    Refuse,
    /// It hangs: nothing is answered, and what has queued up is worked off afterwards.
    Hang,
}

/// A fleet, a server and an outage.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// How many clients there are.
    pub clients: u32,
    /// Requests a second that the server can work off.
    pub capacity: f64,
    /// The share of the capacity that the fleet asks for while all is well.
    pub load: f64,
    /// From when the server takes a request up to its answer.
    pub latency: Duration,
    /// Requests that may wait; half a second of the capacity unless given.
    pub queue: Option<u32>,
    /// The `Retry-After` of a request that is shed.
    pub retry_after: Option<Duration>,
    /// When the outage begins.
    pub outage_at: Duration,
    /// How long it lasts.
    pub outage: Duration,
    /// How the server fails.
    pub outage_kind: OutageKind,
    /// The share of the clients that notice the outage at once and call.
    pub herd: f64,
    /// Clients that share one budget and one breaker.
    pub process: u32,
    /// How long the run is.
    pub run_for: Duration,
    /// Where chance starts.
    pub seed: u64,
}

impl Scenario {
    /// `clients` against a server of this capacity, which is down for `outage` after ten seconds.
    #[must_use]
    pub fn new(clients: u32, capacity: f64, outage: Duration) -> Self {
        let outage_at = Duration::from_secs(10);
        let seen = outage_at
            .saturating_add(outage.saturating_mul(3))
            .saturating_add(SETTLE_TIME);
        Self {
            clients,
            capacity,
            load: 0.6,
            latency: Duration::from_millis(50),
            queue: None,
            retry_after: None,
            outage_at,
            outage,
            outage_kind: OutageKind::Refuse,
            herd: 1.0,
            process: 100,
            run_for: seen.max(Duration::from_secs(120)),
            seed: 0,
        }
    }

    /// Requests a second that the fleet sends while all is well: its share of the capacity, or as many as so few clients can.
    #[must_use]
    pub fn normal_load(&self) -> f64 {
        f64::from(self.clients) / (self.think_time() + self.latency.as_secs_f64())
    }

    /// The mean time between calls of one client, in seconds.
    pub(super) fn think_time(&self) -> f64 {
        let cycle = f64::from(self.clients) / (self.load * self.capacity);
        // A client that does not think at all would fail without end in no time while the server refuses.
        (cycle - self.latency.as_secs_f64()).max(1e-3)
    }

    /// Requests that may wait.
    #[must_use]
    pub fn queue_length(&self) -> u32 {
        self.queue
            .unwrap_or_else(|| ((self.capacity / 2.0) as u32).max(1))
    }

    pub(super) fn outage_end(&self) -> Duration {
        self.outage_at + self.outage
    }

    /// Checks every number against its limit.
    ///
    /// # Errors
    /// The first that is out of range.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        require(
            (1..=MAX_CLIENTS).contains(&self.clients),
            "clients",
            &self.clients,
            || format!("must be 1 to {MAX_CLIENTS}"),
        )?;
        require(
            (MIN_CAPACITY..=MAX_CAPACITY).contains(&self.capacity),
            "capacity",
            &self.capacity,
            || format!("must be {MIN_CAPACITY}/s to {MAX_CAPACITY}/s"),
        )?;
        require(self.load > 0.0 && self.load <= 2.0, "load", &self.load, || {
            "must be more than 0 and at most 2, such as 0.6 for 60 % of the capacity".to_owned()
        })?;
        require((0.0..=1.0).contains(&self.herd), "herd", &self.herd, || {
            "must be 0 to 1, such as 0.5 for half of the clients".to_owned()
        })?;
        require(self.process >= 1, "process", &self.process, || {
            "must be at least 1".to_owned()
        })?;
        let queue = self.queue_length();
        require((1..=MAX_QUEUE).contains(&queue), "queue", &queue, || {
            format!("must be 1 to {MAX_QUEUE}")
        })?;
        self.validate_times()
    }

    fn validate_times(&self) -> Result<(), OutOfRange> {
        let shown = duration::display;
        for (field, value) in [("latency", self.latency), ("outage", self.outage)] {
            require(!value.is_zero() && value <= MAX_RUN, field, &shown(value), || {
                format!("must be longer than 0s and at most {}", shown(MAX_RUN))
            })?;
        }
        let first = Duration::from_secs(1);
        require(
            self.outage_at >= first && self.outage_at <= MAX_RUN,
            "outage-at",
            &shown(self.outage_at),
            || format!("must be {} to {}", shown(first), shown(MAX_RUN)),
        )?;
        let needed = self.outage_end() + SETTLE_TIME;
        require(
            self.run_for >= needed && self.run_for <= MAX_RUN,
            "for",
            &shown(self.run_for),
            || {
                format!(
                    "must be {} (the end of the outage and {}) to {}",
                    shown(needed),
                    shown(SETTLE_TIME),
                    shown(MAX_RUN)
                )
            },
        )
    }
}

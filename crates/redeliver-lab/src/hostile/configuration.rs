//! The destinations of a trial, and the configuration of its relays.

use std::{net::SocketAddr, time::Duration};

use super::case::{ONCE, PARKING, RelayRun};

pub(super) const LEASE: Duration = Duration::from_secs(2);
/// How long a relay waits for an answer.
pub(super) const TIMEOUT: Duration = Duration::from_millis(2000);
/// Takes everything sooner or later.
pub(super) const STEADY: &str = "steady";
/// Has a rate limit.
pub(super) const LIMITED: &str = "limited";
/// Gives up soon.
pub(super) const BRITTLE: &str = "brittle";
/// The header by which the destination knows a message.
pub(super) const TICKET: &str = "x-ticket";
/// The header by which it knows a relay.
pub(super) const RUN: &str = "x-relay-run";

/// Limits that make a relay meet them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) window: u32,
    /// In MiB.
    pub(super) window_bytes: u32,
}

/// Small limits, so that they are met; short waits, so that nothing takes long.
pub(super) fn configuration(run: RelayRun, destination: SocketAddr, limits: Limits) -> String {
    let (lease, timeout) = (LEASE.as_millis(), TIMEOUT.as_millis());
    let Limits { window, window_bytes } = limits;
    let mut text = format!(
        "[relay]\nlease = \"{lease}ms\"\nwindow = {window}\nwindow_bytes = \"{window_bytes}MiB\"\nconcurrency = 8\n\
         shutdown = \"5s\"\npoll_latest = \"100ms\"\n\n\
         [routes]\n\"orders.**\" = [\"{STEADY}\", \"{LIMITED}\"]\n\"parcels.*\" = \"{PARKING}\"\n"
    );
    let manners = "breaker = \"off\", surge = \"off\"";
    for (name, attempts, lane, manners) in [
        (STEADY, 60, "block", manners.to_owned()),
        (LIMITED, 60, "block", format!("{manners}, rate = 400")),
        (PARKING, 60, "park", manners.to_owned()),
        (BRITTLE, 3, "block", manners.to_owned()),
        (ONCE, 60, "block", manners.to_owned()),
    ] {
        let idempotent = name != ONCE;
        text.push_str(&format!(
            "\n[destinations.{name}]\ntype = \"http\"\nurl = \"http://{destination}/{name}\"\nallow_private = true\n\
             timeout = \"{timeout}ms\"\nlane = \"{lane}\"\nidempotent = {idempotent}\nheaders = {{ {RUN} = \"{run}\" }}\n\
             policy = {{ base = \"20ms\", max = \"200ms\", max_attempts = {attempts} }}\nmanners = {{ {manners} }}\n"
        ));
    }
    text
}

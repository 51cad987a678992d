//! A fleet of clients with one policy against one server, through an outage.
//!
//! # The model
//! Time is virtual, and only a seed decides by chance, so a scenario gives the same report every time.
//!
//! **Clients.** Each makes one call at a time and thinks in between, for exponentially distributed times, such that
//! the fleet offers [`Scenario::load`] of the server's capacity while all is well. A call goes through a
//! [`redeliver_policy::Pipeline`]: the retry policy with its deadline and attempt timeout, and, if asked for, a retry
//! budget and a circuit breaker, which [`Scenario::process`] clients share as the tasks of one process do. When the outage begins,
//! [`Scenario::herd`] of the clients notice it at once and call, as clients do whose open connection breaks.
//!
//! **Server.** It works off [`Scenario::capacity`] requests a second, in order, and answers each
//! [`Scenario::latency`] after it took it up. [`Scenario::queue`] requests may wait; what comes on top is shed at once with a
//! 503, which may carry a `Retry-After` and costs the server nothing (a real one is not so lucky). It cannot know that a client has stopped waiting: a request whose attempt timed out costs as
//! much as any other, which is how retries keep an overloaded server down.
//!
//! **Outage.** Either the server is gone ([`OutageKind::Refuse`]: what it had is reset, what comes is refused at once), or it hangs
//! ([`OutageKind::Hang`]: nothing is answered, and what has queued up is worked off afterwards, wanted or not).
//!
//! # What is reported
//! Everything but the series is about the calls that began after the outage did. *Amplification* is requests sent to calls made.
//! *Time to recover* runs from the end of the outage to the first second from which on, until the run ends, every window of
//! five seconds has 99 % of its calls succeed and a load within 10 % of normal (or within four standard deviations of
//! chance, where the fleet is so small that this is more).

mod contender;
mod latency;
mod recovery;
mod report;
mod scenario;
mod server;
mod simulation;

pub use contender::{Contender, DEFAULT_ATTEMPT_TIMEOUT};
pub use report::{Report, Second};
pub use scenario::{
    MAX_CAPACITY, MAX_CLIENTS, MAX_EVENTS, MAX_QUEUE, MAX_RUN, MIN_CAPACITY, OutageKind, SETTLE_TIME,
    Scenario,
};
pub use simulation::{FleetError, Happening};

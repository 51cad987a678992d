//! One file per crate, each answering [`Peer`](crate::peer::Peer) with the crate's own API.

mod backoff;
mod backon;
mod execution_policy;
mod exponential_backoff;
mod mettle;
mod redeliver;
mod relentless;
mod retry_policies;
mod stubborn_io;
mod tokio_retry;
mod tokio_retry2;
mod tower;

use crate::entry::Entry;

/// Every row of the table, in its order: ourselves first, the others by name.
pub(crate) fn all() -> Vec<Entry> {
    vec![
        Entry::of::<redeliver::Redeliver>(),
        Entry::of::<backoff::Backoff>(),
        Entry::of::<backon::Backon>(),
        Entry::of::<execution_policy::ExecutionPolicy>(),
        Entry::of::<exponential_backoff::ExponentialBackoff>(),
        Entry::of::<mettle::Mettle>(),
        Entry::of::<relentless::Relentless>(),
        Entry::as_documented::<relentless::Relentless, relentless::Readme>(
            "jittered before it is capped, the order of its README",
        ),
        Entry::of::<retry_policies::RetryPolicies>(),
        Entry::of::<stubborn_io::StubbornIo>(),
        Entry::of::<tokio_retry::TokioRetry>(),
        Entry::of::<tokio_retry2::TokioRetry2>(),
        Entry::as_documented::<tokio_retry2::TokioRetry2, tokio_retry2::Readme>(
            "the jitter function of its README, 0.5 to 1.5 times",
        ),
        Entry::of::<tower::Tower>(),
    ]
}

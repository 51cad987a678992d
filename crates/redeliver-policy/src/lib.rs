//! The retry decision as pure data and arithmetic: backoff, jitter, classification, `Retry-After`, deadline, budget, breaker.
//!
//! Nothing here reads a clock, sleeps, draws random numbers or does I/O: `now` and entropy are arguments. So one
//! [`Session`] serves an executor that sleeps, a relay that writes `next_attempt_at` into a row, and a simulator that does neither.
//! Most people want the crate `redeliver`, which drives it and re-exports all of this.
//!
//! Without default features the crate is `no_std` and needs only `alloc`.

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod atomic;
mod backoff;
mod breaker;
mod budget;
mod class;
pub mod classify;
mod conduct;
pub mod duration;
mod forecast;
#[cfg(feature = "serde")]
mod form;
pub mod http_date;
mod jitter;
mod lint;
mod moment;
#[cfg(feature = "std")]
mod pipeline;
mod policy;
mod preset;
mod reset;
pub mod retry_after;
mod session;
mod stop;
mod validate;
mod waits;

pub use backoff::{Backoff, MAX_LISTED_WAITS, WaitList};
#[cfg(feature = "std")]
pub use breaker::Breaker;
pub use breaker::{BreakerCore, BreakerRule, BreakerState, Permit, Rejected, Verdict};
pub use budget::{Budget, BudgetRule};
pub use class::{Class, Classify};
pub use conduct::{Conduct, Failure};
pub use forecast::Wait;
pub use jitter::{Jitter, ParseJitterError};
pub use lint::Lint;
pub use moment::Moment;
#[cfg(feature = "std")]
pub use pipeline::{Pipeline, PipelineError, PipelineRun, Stage};
pub use policy::{DEFAULT_MAX_ATTEMPTS, DEFAULT_RETRY_AFTER_MAX, Policy};
pub use preset::{PRESETS, Preset};
pub use reset::Reset;
pub use session::{Decision, Outer, Session};
pub use stop::StopReason;
pub use validate::InvalidPolicy;
pub use waits::Waits;

//! The circuit breaker: stops asking what is down, asks again carefully, and lets the load back in slowly.

mod core;
mod rule;
#[cfg(feature = "std")]
mod shared;
mod window;

pub use self::core::{BreakerCore, BreakerState, Permit, Rejected, Verdict};
pub use rule::BreakerRule;
#[cfg(feature = "std")]
pub use shared::Breaker;

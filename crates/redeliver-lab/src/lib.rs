//! Proves redeliver: simulators that run thousands of clients in virtual time, a server that fails on purpose, and checkers
//! of what became of messages.

#[cfg(feature = "crash")]
pub mod crash;
mod deviate;
pub mod faulty;
pub mod fleet;
pub mod history;
#[cfg(feature = "crash")]
pub mod hostile;
mod listener;
pub mod occ;
mod range;
pub mod receiver;
pub mod verify;

pub use range::OutOfRange;

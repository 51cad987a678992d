//! Proves redeliver: simulators that run thousands of clients in virtual time, and a server that fails on purpose.

mod deviate;
pub mod faulty;
pub mod fleet;
pub mod occ;
mod range;
pub mod verify;

pub use range::OutOfRange;

//! Every fault does what its row says, seen from the other end of a real socket.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the steps that tests share fail as tests do"
)]

mod answers;
mod broken;
mod client;
mod lifetime;
mod payment;
mod streams;
mod turns;

//! The outbox's commands as a user runs them, on SQLite files of their own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what goes wrong here fails the test"
)]

mod bench;
mod check;
mod configuration;
mod dead;
mod desk;
mod destination;
mod errors;
mod events;
mod help;
mod job;
mod lane;
mod listen;
mod listening;
mod look;
mod packaging;
mod readme;
mod rows;
mod send;
mod serve;
mod tables;
mod topics;
mod traces;

//! One suite, run by every client that can enqueue, on its real database.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod act;
mod by_hand;
mod clients;
mod database;
mod grants;
mod inbox;
mod races;
mod suite;

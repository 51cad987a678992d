//! The SQLite store: its tables, its leases, its reader, what it settles, and its desk.
#![cfg(feature = "sqlite")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that meets an error has failed"
)]

mod bench;
mod desk;
mod discreet;
mod histories;
mod hostile;
mod leases;
mod reading;
mod restored;
mod settling;
mod tables;

//! The outbox as a whole: real `redeliver serve` processes between real databases and a server that fails.
//!
//! The databases are those that `./test` starts, named in `REDELIVER_TEST_POSTGRES`, `REDELIVER_TEST_MARIADB` and `REDELIVER_TEST_MYSQL`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be unwrapped here fails the test"
)]

mod client;
mod database;
mod endpoint;
mod faults;
mod held;
mod import;
mod line;
mod memory;
mod outage;
mod own_server;
mod relay;
mod relays;
mod rows;
mod trouble;

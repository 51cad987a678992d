//! What the dashboard costs: how long the server takes for each page of an outbox with this many live messages, as many sent and a tenth as
//! many dead; and how much slower a relay is while ten browsers look at it. On SQLite, and on PostgreSQL if `REDELIVER_TEST_POSTGRES` names a
//! server.
//!
//! `cargo bench --profile release -p redeliver-cli --bench desk -- --rows 1000000`, and with `--rows 0` the browsers alone: `--messages` to be drained in
//! each of so many `--rounds`.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod browsers;
mod outbox;
mod pages;
mod relay;

use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let rows = number("--rows", 100_000)?;
    let messages = number("--messages", 2_000_000)?;
    let rounds = number("--rounds", 6)?.max(1);
    let runtime = tokio::runtime::Runtime::new()?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    runtime.block_on(async {
        for outbox in outbox::all().into_iter().filter(|_| rows > 0) {
            pages::measure(&outbox?, rows).await?;
        }
        for outbox in outbox::all() {
            browsers::measure(&outbox?, messages, rounds).await?;
        }
        Ok(())
    })
}

fn number(flag: &str, usual: i64) -> Outcome<i64> {
    let mut words = std::env::args().skip_while(|word| word != flag).skip(1);
    match words.next() {
        Some(given) => Ok(given
            .parse()
            .map_err(|error| format!("{flag} {given}: {error}"))?),
        None => Ok(usual),
    }
}

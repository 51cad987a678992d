//! What the dashboard costs: how long the server takes for each page of an outbox with this many live messages, as many sent and a tenth as
//! many dead; and how much slower a relay is while ten browsers look at it. On SQLite, and on PostgreSQL if `REDELIVER_TEST_POSTGRES` names a
//! server.
//!
//! `cargo bench --profile release -p redeliver-cli --bench desk -- --rows 1000000`, and with `--rows 0` the browsers alone: `--messages` to be drained in
//! each of so many `--rounds`, 0 for the pages alone. `--on sqlite` or `--on postgresql` measures one database, and `--look messages` what it costs if all ten look at
//! that page. With `--within` browsers come and go during each drain, which shows small costs on a machine that others use too.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

mod browsers;
mod outbox;
mod pages;
mod relay;
mod turns;

use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let rows = number("--rows", 100_000)?;
    let messages = number("--messages", 2_000_000)?;
    let rounds = number("--rounds", 6)?;
    let on = word("--on");
    let runtime = tokio::runtime::Runtime::new()?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    runtime.block_on(async {
        for outbox in outbox::all(on.as_deref()).into_iter().filter(|_| rows > 0) {
            pages::measure(&outbox?, rows).await?;
        }
        for outbox in outbox::all(on.as_deref()).into_iter().filter(|_| rounds > 0) {
            browsers::measure(
                &outbox?,
                messages,
                rounds,
                word("--look").as_deref(),
                flag("--within"),
            )
            .await?;
        }
        Ok(())
    })
}

fn number(flag: &str, usual: i64) -> Outcome<i64> {
    match word(flag) {
        Some(given) => Ok(given
            .parse()
            .map_err(|error| format!("{flag} {given}: {error}"))?),
        None => Ok(usual),
    }
}

fn word(flag: &str) -> Option<String> {
    std::env::args().skip_while(|word| word != flag).nth(1)
}

fn flag(flag: &str) -> bool {
    std::env::args().any(|word| word == flag)
}

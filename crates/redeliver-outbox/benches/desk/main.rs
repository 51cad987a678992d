//! How long an operator waits: every way to look, in an outbox with this many live messages, as many sent and a tenth as many dead. On
//! SQLite, and on PostgreSQL if `REDELIVER_TEST_POSTGRES` names a server.
//!
//! `cargo bench -p redeliver-outbox --features postgres --bench desk -- --rows 1000000`

mod fill;
mod looks;

use std::{error::Error, time::Duration};

use redeliver_outbox::desk::Desk;
use tokio::runtime::Builder;

use crate::looks::{Look, looks};

const ROUNDS: usize = 5;
/// What a person does not notice.
const GOAL: Duration = Duration::from_millis(100);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let rows = rows()?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let filled = fill::sqlite(rows).await?;
        let measured = measure("SQLite", &filled.store, rows).await;
        filled.remove()?;
        measured?;
        #[cfg(feature = "postgres")]
        if let Ok(address) = std::env::var("REDELIVER_TEST_POSTGRES") {
            let filled = fill::postgres(&address, rows).await?;
            let measured = measure("PostgreSQL", &filled.store, rows).await;
            filled.remove().await?;
            measured?;
        }
        Ok(())
    })
}

fn rows() -> Outcome<i64> {
    let mut words = std::env::args().skip_while(|word| word != "--rows").skip(1);
    match words.next() {
        Some(rows) => Ok(rows.parse().map_err(|error| format!("--rows {rows}: {error}"))?),
        None => Ok(100_000),
    }
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
async fn measure(database: &str, desk: &dyn Desk, rows: i64) -> Outcome<()> {
    println!(
        "{database}, {rows} live, {rows} sent, {} dead; median of {ROUNDS}, in milliseconds",
        rows / 10
    );
    for Look { name, look } in looks(rows) {
        let mut times = Vec::new();
        let mut told = String::new();
        for _ in 0..ROUNDS {
            let begun = redeliver::clock::now();
            told = look(desk).await?;
            times.push(redeliver::clock::now().since(begun));
        }
        times.sort_unstable();
        let median = times[ROUNDS / 2];
        let mark = if median > GOAL { "  over" } else { "" };
        println!("  {name:44} {:9.1}  {told}{mark}", median.as_secs_f64() * 1000.0);
    }
    Ok(())
}

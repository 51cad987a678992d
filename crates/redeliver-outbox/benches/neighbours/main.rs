//! What one destination in trouble does to nineteen others: what they get a second from a backlog, and how long a message takes to them at a
//! steady pace, while all are well, while one is dead and while one hangs. The real relay on SQLite in memory, over HTTP on loopback.
//!
//! `cargo bench -p redeliver-outbox --bench neighbours`

mod receiver;

use std::{error::Error, process::ExitCode, sync::Arc, time::Duration};

use redeliver::clock;
use redeliver_outbox::{
    desk::{Layout, Schema as _},
    destination::{Http, Route, Routes},
    relay::{Relay, RelayConfig},
    store::SqliteStore,
};
use tokio::{net::TcpListener, runtime::Builder, sync::oneshot};

use crate::receiver::Receiver;

const DESTINATIONS: usize = 20;
/// Messages for each destination that wait when the relay begins.
const BACKLOG: usize = 1_000;
/// Then so many for each, one every so often.
const PACED: usize = 100;
const PACE: Duration = Duration::from_millis(50);
const ROUNDS: usize = 5;
/// The least that the others keep of their rate, and the most that their 99th percentile grows.
const RATE_GOAL: f64 = 0.95;
const LATENCY_GOAL: f64 = 1.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    /// Nobody listens there.
    Dead,
    /// It takes connections and never answers.
    Hanging,
}

/// What the nineteen others saw.
struct Seen {
    per_second: f64,
    p99: Duration,
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    let receiver = Receiver::start()?;
    let kinds = [Trouble::None, Trouble::Dead, Trouble::Hanging];
    let mut all: [Vec<Seen>; 3] = Default::default();
    // One after the other in each round, so that whatever else the machine does falls on all of them.
    for _ in 0..ROUNDS {
        for (seen, kind) in all.iter_mut().zip(kinds) {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            seen.push(runtime.block_on(round(&receiver, kind))?);
        }
    }
    let [well, dead, hanging] = all.map(|seen| {
        let rates = seen.iter().map(|seen| seen.per_second).collect();
        let waits = seen.iter().map(|seen| seen.p99.as_secs_f64() * 1e3).collect();
        (median(rates), median(waits))
    });
    println!(
        "{} of {DESTINATIONS} destinations, median of {ROUNDS} rounds:",
        DESTINATIONS - 1
    );
    let mut met = true;
    for (name, (rate, wait)) in [("all well", well), ("one dead", dead), ("one hanging", hanging)] {
        println!(
            "  {name:<12} {rate:>7.0} messages/s ({:>3.0} %), p99 {wait:>6.1} ms ({:.2} times)",
            rate / well.0 * 100.0,
            wait / well.1
        );
        met &= rate >= well.0 * RATE_GOAL && wait <= well.1 * LATENCY_GOAL;
    }
    println!(
        "  goals: {:.0} % of the rate, {LATENCY_GOAL} times the p99",
        RATE_GOAL * 100.0
    );
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn round(receiver: &Receiver, trouble: Trouble) -> Result<Seen, Box<dyn Error>> {
    let store = SqliteStore::in_memory()?;
    store.migrate(Layout { shards: 4 }, None).await?;
    let silent = TcpListener::bind("127.0.0.1:0").await?;
    let first = match trouble {
        Trouble::None => receiver.address,
        Trouble::Hanging => silent.local_addr()?,
        Trouble::Dead => {
            let taken = TcpListener::bind("127.0.0.1:0").await?;
            taken.local_addr()?
        }
    };
    let mut routes = Routes::new();
    for at in 0..DESTINATIONS {
        let address = if at == 0 { first } else { receiver.address };
        let http = Http::to(format!("http://{address}/{at}"))
            .allow_private(true)
            .build()?;
        let mut route = Route::to(http);
        route.timeout = Duration::from_secs(2);
        routes = routes.with(format!("d{at}"), route);
    }
    insert(&store, BACKLOG);
    receiver.expect((DESTINATIONS - 1) * BACKLOG);
    let relay = Relay::new(Arc::new(store.clone()), routes, RelayConfig::unique());
    let hint = relay.hint();
    let (stop, stopped) = oneshot::channel::<()>();
    let began = clock::now();
    let running = tokio::spawn(relay.run(async move {
        let _ = stopped.await;
    }));
    receiver.all().await;
    let took = clock::now().since(began);
    receiver.expect((DESTINATIONS - 1) * PACED);
    for _ in 0..PACED {
        insert(&store, 1);
        hint.wake();
        clock::sleep(PACE).await;
    }
    receiver.all().await;
    let p99 = receiver.p99();
    let _ = stop.send(());
    running.await?;
    let messages = u32::try_from((DESTINATIONS - 1) * BACKLOG)?;
    Ok(Seen {
        per_second: f64::from(messages) / took.as_secs_f64(),
        p99,
    })
}

/// So many for each destination, with the time of their insert.
fn insert(store: &SqliteStore, each: usize) {
    let now = clock::now().as_nanos();
    store.with_connection(|connection| {
        let _ = connection.execute(
            "WITH RECURSIVE counted (at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM counted WHERE at + 1 < ?1)
             INSERT INTO redeliver_outbox (destination, payload) SELECT 'd' || (at % ?2), ?3 FROM counted",
            (count(each * DESTINATIONS), count(DESTINATIONS), now.to_string()),
        );
    });
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

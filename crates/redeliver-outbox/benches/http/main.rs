//! What the relay adds to an HTTP request: messages of 512 bytes from a store that costs nothing, 64 at a time, against the same requests
//! from a bare hyper client. Both have one core, the server has the other.
//!
//! `cargo bench -p redeliver-outbox --bench http`; with `-- relay`, `-- pooled` or `-- connections` one of them alone, for a profiler

mod bare;
mod idle;
mod server;

use std::{error::Error, process::ExitCode, sync::Arc, time::Duration};

use redeliver::{Moment, clock};
use redeliver_outbox::{
    destination::{Http, Route, Routes},
    relay::{Relay, RelayConfig},
};
use tokio::{runtime::Builder, sync::oneshot};

use crate::{idle::Idle, server::Server};

const REQUESTS: usize = 20_000;
const CONCURRENCY: usize = 64;
const BODY: usize = 512;
const ROUNDS: usize = 9;
/// The least that the relay sends of what a bare client sends.
const GOAL: f64 = 0.8;

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    let server = Server::start()?;
    let url = format!("http://{}/hook", server.address);
    let alone = std::env::args().nth(1).unwrap_or_default();
    let took = match alone.as_str() {
        "connections" => Some(run(bare::connections(
            server.address,
            REQUESTS,
            CONCURRENCY,
            BODY,
        ))??),
        "pooled" => Some(run(bare::pooled(url.clone(), REQUESTS, CONCURRENCY, BODY))??),
        "relay" => Some(run(relayed(url.clone()))??),
        _ => None,
    };
    if let Some(took) = took {
        println!("{took:?}");
        return Ok(ExitCode::SUCCESS);
    }
    let mut rates: [Vec<f64>; 3] = Default::default();
    // One after the other in each round, so that whatever else the machine does falls on all of them.
    for round in 0..=ROUNDS {
        let taken = [
            run(bare::connections(server.address, REQUESTS, CONCURRENCY, BODY))??,
            run(bare::pooled(url.clone(), REQUESTS, CONCURRENCY, BODY))??,
            run(relayed(url.clone()))??,
        ];
        if round > 0 {
            for (rates, took) in rates.iter_mut().zip(taken) {
                rates.push(f64::from(u32::try_from(REQUESTS)?) / took.as_secs_f64());
            }
        }
    }
    let [connections, pooled, relay] = rates.map(median);
    println!("{CONCURRENCY} at a time, {BODY} bytes each, median of {ROUNDS} rounds of {REQUESTS}:");
    println!("  hyper, a connection for each   {connections:>8.0} requests/s");
    println!("  hyper, its pooling client      {pooled:>8.0} requests/s");
    println!("  relay                          {relay:>8.0} messages/s");
    println!(
        "  {:.0} % of the connections, {:.0} % of the pooling client (goal: {:.0} %)",
        relay / connections * 100.0,
        relay / pooled * 100.0,
        GOAL * 100.0
    );
    let met = relay / connections >= GOAL;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run<T>(work: impl Future<Output = T>) -> std::io::Result<T> {
    Ok(Builder::new_current_thread().enable_all().build()?.block_on(work))
}

/// How long the relay takes for all of them, from its start.
async fn relayed(url: String) -> Result<Duration, Box<dyn Error>> {
    let http = Http::to(url).allow_private(true).build()?;
    let mut route = Route::to(http);
    route.concurrency = CONCURRENCY;
    let (finish, finished) = oneshot::channel();
    let store = Arc::new(Idle::new(REQUESTS, BODY, finish));
    let relay = Relay::new(
        store,
        Routes::new().with("hook", route),
        RelayConfig::named("bench"),
    );
    let began: Moment = clock::now();
    let mut ended = began;
    relay
        .run(async {
            let _ = finished.await;
            ended = clock::now();
        })
        .await;
    Ok(ended.since(began))
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

//! `redeliver demo`: an API that fails, a worker that retries, a stream that reconnects.

mod narrator;
mod payments;
mod summary;
mod ticker;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use clap::Args;
use redeliver::clock;
use redeliver_lab::faulty::{Faulty, FaultyConfig};
use redeliver_policy::duration;
use serde_json::json;

use self::{narrator::Narrator, payments::Counter, ticker::Ticks};
use crate::{ending::told_to_end, output};

/// See it work: an API that fails, workers that retry, a stream that reconnects, all on this machine
#[derive(Args, Clone, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DemoArgs {
    /// End by itself after this time, such as 10s
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    run_for: Option<Duration>,
    /// Percent of payments that fail with 503
    #[arg(long, value_name = "PERCENT", default_value_t = 40, allow_hyphen_values = true, value_parser = clap::value_parser!(u8).range(0..=100))]
    fail_rate: u8,
    /// Seed of the API's faults
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true)]
    seed: u64,
    /// One JSON object a line: what happens, and at the end a summary
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
It starts the fault server of `redeliver faulty` on a free port of this machine, and against it:
  payments  two workers that POST /payment/authorize with an Idempotency-Key and five attempts within 8s
  careless  a POST without a key whose answer gets lost, which is therefore not sent again
  stream    a WebSocket that drops every dozen items or so, and goes on where it was

Examples:
  redeliver demo                      until Ctrl-C
  redeliver demo --for 10s            ends by itself, with a summary
  redeliver demo --for 10s --fail-rate 80
  redeliver demo --for 10s --json | tail -n 1";

/// The ticker's pace, and the mean number of items before it drops.
const TICKER: &str = "/ws?every=50ms&drop_after=12";

/// Runs the demo until its time is over or somebody ends it.
///
/// # Errors
/// The server cannot be started, or signals cannot be listened for.
pub(crate) async fn run(args: DemoArgs) -> anyhow::Result<()> {
    let config = FaultyConfig {
        fail_rate: args.fail_rate,
        seed: args.seed,
        ..FaultyConfig::default()
    };
    let server = Faulty::start(config).context("cannot start the API that fails")?;
    let told = told_to_end().context("cannot listen for signals")?;
    let api = server.base_url();
    let narrator = Narrator::new(args.json);
    narrator.aside(&opening(&api, &args));
    let counter = Arc::new(Counter::new(&api, Arc::clone(&narrator)));
    let mut ticks = Ticks::default();
    let over = async {
        match args.run_for {
            Some(time) => clock::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let workers = futures_util::future::join_all((0..payments::WORKERS).map(|_| counter.work()));
    let url = format!("{}{TICKER}", api.replacen("http", "ws", 1));
    tokio::select! {
        () = told => {}
        () = over => {}
        _ = workers => {}
        () = counter.be_careless() => {}
        ended = ticker::follow(url, &narrator, &mut ticks) => ended.context("the stream ended")?,
    }
    let (tally, stats) = (counter.tally(), server.stats());
    match args.json {
        true => output::json(&json!({ "summary": summary::value(&tally, &ticks, &stats) })),
        false => output::line(&summary::words(&narrator.elapsed(), &tally, &ticks, &stats)),
    }
    server.shutdown().await;
    Ok(())
}

fn opening(api: &str, args: &DemoArgs) -> String {
    let end = match args.run_for {
        Some(time) => format!("It ends after {}, or with Ctrl-C.", duration::display(time)),
        None => "Ctrl-C ends it.".to_owned(),
    };
    format!(
        "redeliver demo: everything here runs on this machine. {end}\n\n\
         \x20 the API   {api} answers {} % of payments with 503 and Retry-After: 1, up to 800ms late, and loses some answers\n\
         \x20 payments  {} workers, each payment with one Idempotency-Key: {}\n\
         \x20 careless  sends without a key, and its answer gets lost: nobody knows whether it executed\n\
         \x20 stream    a ticker that drops every dozen items or so: {}\n",
        args.fail_rate,
        payments::WORKERS,
        payments::POLICY,
        ticker::POLICY,
    )
}

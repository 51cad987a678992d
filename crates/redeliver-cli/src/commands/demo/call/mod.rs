//! The call that is retried: workers that authorize payments with an API that fails.

mod payments;
mod summary;

use std::sync::Arc;

use anyhow::Context as _;
use redeliver_lab::faulty::{Faulty, FaultyConfig};
use serde_json::json;

use self::payments::Counter;
use super::{DemoArgs, end_of, narrator::Narrator, over};
use crate::{ending::told_to_end, exit::Exit, output};

pub(super) async fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let usual = FaultyConfig::default();
    let config = FaultyConfig {
        fail_rate: args.fail_rate.unwrap_or(usual.fail_rate),
        seed: args.seed,
        ..usual
    };
    let fail_rate = config.fail_rate;
    let server = Faulty::start(config).context("cannot start the API that fails")?;
    let told = told_to_end().context("cannot listen for signals")?;
    let api = server.base_url();
    let narrator = Narrator::new(args.json);
    narrator.aside(&format!(
        "redeliver demo: everything here runs on this machine. {}\n\n\
         \x20 the API   {api} answers {fail_rate} % of payments with 503 and Retry-After: 1, up to 800ms late, and loses some answers\n\
         \x20 payments  {} workers, each payment with one Idempotency-Key: {}\n\
         \x20 careless  sends without a key, and its answer gets lost: nobody knows whether it executed\n",
        end_of(args.run_for),
        payments::WORKERS,
        payments::POLICY,
    ));
    let counter = Arc::new(Counter::new(&api, Arc::clone(&narrator)));
    let workers = futures_util::future::join_all((0..payments::WORKERS).map(|_| counter.work()));
    tokio::select! {
        () = told => {}
        () = over(args.run_for) => {}
        _ = workers => {}
        () = counter.be_careless() => {}
    }
    let (tally, stats) = (counter.tally(), server.stats());
    match args.json {
        true => output::json(&json!({ "summary": summary::value(&tally, &stats) })),
        false => output::line(&summary::words(&narrator.elapsed(), &tally, &stats)),
    }
    server.shutdown().await;
    Ok(Exit::Done)
}

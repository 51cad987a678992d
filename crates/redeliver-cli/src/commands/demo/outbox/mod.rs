//! An outbox at work: a shop that commits and rolls back, an API that fails, a relay that retries, a person who rescues.

mod closing;
mod story;

use std::time::Duration;

use anyhow::Context as _;
use redeliver_policy::duration;
use serde_json::json;

use self::{closing::Closing, story::Story};
use super::{
    DemoArgs,
    narrator::Narrator,
    shop::Shop,
    stage::{POLICY, Stage},
};
use crate::{ending::told_to_end, exit::Exit, output};

/// How long the shop takes orders when nobody says.
const USUAL_TIME: Duration = Duration::from_secs(8);
/// How often the API fails when nobody says.
pub(super) const USUAL_FAIL_RATE: u8 = 30;

pub(super) async fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let (time, fail_rate) = (
        args.run_for.unwrap_or(USUAL_TIME),
        args.fail_rate.unwrap_or(USUAL_FAIL_RATE),
    );
    let told = told_to_end().context("cannot listen for signals")?;
    let stage = Stage::set(fail_rate, args.seed, args.keep).await?;
    let narrator = Narrator::new(args.json);
    narrator.aside(&opening(&stage, time, fail_rate));
    let mut shop = Shop::open(&stage.file())?;
    let mut relay = stage.relay(stage.billing()?);
    let mut story = Story::new(&stage, &narrator, &mut shop, args.seed);
    let whole = tokio::select! {
        told = Box::pin(story.play(&mut relay, time)) => told.map(|()| true)?,
        () = told => false,
    };
    let stopped = relay.stop().await?;
    for settlement in &stopped.settled {
        story.tell(settlement).await?;
    }
    let (tally, elapsed) = (story.tally, narrator.elapsed());
    let closing = Closing::of(&stage, &shop, tally, stopped.early).await?;
    match args.json {
        true => output::json(&json!({ "summary": closing.value(whole, &stage) })),
        false => output::line(&closing.words(&elapsed, &stage)),
    }
    stage.server.shutdown().await;
    closing.check(whole)?;
    Ok(Exit::Done)
}

fn opening(stage: &Stage, time: Duration, fail_rate: u8) -> String {
    let (database, api) = (stage.database(), stage.server.base_url());
    format!(
        "redeliver demo: a shop, its outbox and an API that fails, all on this machine. The shop takes orders for {}; it ends when all \
         of them have arrived, or with Ctrl-C.\n\n\
         \x20 shop     one transaction an order: INSERT INTO orders, INSERT INTO redeliver_outbox, then COMMIT, or ROLLBACK\n\
         \x20 relay    delivers what was committed: {POLICY}\n\
         \x20 the API  {api} answers {fail_rate} % of orders with 503\n\
         \x20 outbox   {database}\n\
         \x20          while this runs, in another terminal: redeliver status --watch --database {database}\n",
        duration::display(time),
    )
}

//! A desk at work: a shop, five destinations each with a trouble of its own, the relay between them, and its dashboard.

mod account;
mod closing;
mod heard;
mod news;
mod opening;
mod producer;
mod setting;
mod stand;
mod watcher;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use redeliver_lab::faulty::{Faulty, FaultyConfig};
use redeliver_outbox::Timestamp;
use serde_json::json;

use self::{
    account::Account,
    closing::Closing,
    opening::Opening,
    producer::Producer,
    stand::{Notes, Stand},
    watcher::Watcher,
};
use super::{DemoArgs, narrator::Narrator, outbox::USUAL_FAIL_RATE, stage::Folder};
use crate::{commands::outbox::serve::Hosted, ending::Signals, exit::Exit, output};

/// After its end, the relay gets so long for what can be delivered.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) async fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let fail_rate = args.fail_rate.unwrap_or(USUAL_FAIL_RATE);
    let config = FaultyConfig {
        seed: args.seed,
        // No hint where a fault does not bring its own: the policy's waits are to be seen.
        retry_after: 0,
        ..FaultyConfig::default()
    };
    let server = Faulty::start(config).context("cannot start the API that fails")?;
    let records = server.records();
    let folder = Folder::make(args.keep).context("cannot make a temporary folder for the outbox")?;
    let (api, database) = (server.base_url(), folder.database());
    let config = setting::write(&folder.path, &api, &database, fail_rate)
        .context("cannot write the configuration into a temporary folder")?;
    let (watcher, sightings) = Watcher::new();
    let hosted = Hosted::start(&config, args.listen, Arc::new(watcher)).await?;
    let producer = Producer::open(&folder.file(), args.seed)?;

    let narrator = Narrator::new(args.json);
    let opening = Opening {
        url: hosted.url(),
        config: &config,
        database: &database,
        api: &api,
        fail_rate,
        time: args.run_for,
    };
    match args.json {
        true => output::json(&opening.value()),
        false => output::line(&opening.words(narrator.is_coloured())),
    }
    if let Some(url) = hosted.url().filter(|_| args.open)
        && let Err(why) = opening::browse(url)
    {
        narrator.aside(&why);
    }

    let mut stand = Stand::new(&hosted, &narrator, producer, sightings, records);
    let ended = async {
        tokio::select! {
            () = super::over(args.run_for) => {}
            _ = signals.next() => {}
        }
    };
    tokio::select! {
        watched = stand.watch(ended) => watched?,
        never = hosted.keep() => match never {},
    }
    tokio::select! {
        drained = stand.drain(DRAIN) => drained?,
        never = hosted.keep() => match never {},
        signal = signals.next() => return Ok(Exit::Signalled(signal)),
    }
    let (notes, elapsed) = (stand.leave(), narrator.elapsed());
    let finished = tokio::select! {
        finished = hosted.stop() => finished,
        signal = signals.next() => return Ok(Exit::Signalled(signal)),
    };
    let Notes {
        producer,
        news,
        heard,
        ..
    } = notes.complete();
    let address = server.local_addr();
    server.shutdown().await;

    let (written, shop) = producer.close();
    let rows = account::rows(shop.database())?;
    let closing = Closing {
        account: Account::of(&rows, &written, &heard, news.early, Timestamp::wall()),
        news,
        heard,
        written,
        elapsed,
        api: address,
        kept: folder.kept(),
    };
    match args.json {
        true => output::json(&json!({ "summary": closing.value(&database, &config) })),
        false => output::line(&closing.words()),
    }
    closing.check()?;
    Ok(match finished.clean {
        true => Exit::Done,
        false => Exit::Unfinished,
    })
}

//! The stream that reconnects: a ticker whose server drops the connection every dozen items or so.

use std::{pin::pin, time::Duration};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use redeliver::{Jitter, Policy, stream::StreamEvent, websocket::WebSocket};
use redeliver_lab::faulty::{Faulty, FaultyConfig};
use serde_json::{Value, json};

use super::{
    DemoArgs, end_of,
    narrator::{Actor, Narrator},
    over,
};
use crate::{
    commands::call::record::millis,
    commands::watch::{item::value_of, ledger::Ledger},
    ending::told_to_end,
    exit::Exit,
    output, readable,
};

/// The ticker's pace, and the mean number of items before it drops.
const TICKER: &str = "/ws?every=50ms&drop_after=12";

/// Quicker than the preset `reconnect`, so that a few seconds show several reconnections.
const POLICY: Policy = Policy::exponential(Duration::from_millis(300), Duration::from_secs(5))
    .jitter(Jitter::Proportional(0.1))
    .unlimited_attempts();

/// What became of the stream.
#[derive(Debug, Default)]
struct Ticks {
    items: u64,
    connections: u64,
    gaps: u64,
    ledger: Ledger,
}

pub(super) async fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let config = FaultyConfig {
        seed: args.seed,
        ..FaultyConfig::default()
    };
    let server = Faulty::start(config).context("cannot start the server that drops its streams")?;
    let told = told_to_end().context("cannot listen for signals")?;
    let narrator = Narrator::new(args.json);
    let url = format!("{}{TICKER}", server.base_url().replacen("http", "ws", 1));
    narrator.aside(&format!(
        "redeliver demo: everything here runs on this machine. {}\n\n\
         \x20 stream    {url} drops every dozen items or so: {POLICY}\n",
        end_of(args.run_for),
    ));
    let mut ticks = Ticks::default();
    tokio::select! {
        () = told => {}
        () = over(args.run_for) => {}
        ended = follow(url, &narrator, &mut ticks) => ended.context("the stream ended")?,
    }
    match args.json {
        true => output::json(&json!({ "summary": { "stream": ticks.value() } })),
        false => output::line(&ticks.words(&narrator.elapsed())),
    }
    server.shutdown().await;
    Ok(Exit::Done)
}

impl Ticks {
    fn words(&self, elapsed: &str) -> String {
        let counted = |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
        format!(
            "\nAfter {elapsed}:\n\
             \x20 stream    {} items over {} connections, {} gaps; {} lost, {} repeated\n\n\
             What to try next:\n\
             \x20 redeliver faulty                the server of this demo, with many more faults\n\
             \x20 redeliver watch --help          a stream that reconnects, from the command line",
            self.items,
            self.connections,
            self.gaps,
            counted(self.ledger.lost()),
            counted(self.ledger.repeated()),
        )
    }

    fn value(&self) -> Value {
        json!({
            "items": self.items,
            "connections": self.connections,
            "gaps": self.gaps,
            "lost": self.ledger.lost(),
            "repeated": self.ledger.repeated(),
        })
    }
}

/// Follows the ticker for ever, and tells of each gap.
async fn follow(url: String, narrator: &Narrator, ticks: &mut Ticks) -> anyhow::Result<()> {
    let socket = WebSocket::connect(url).policy(POLICY).resume(|last, next| {
        if let Some(id) = last.and_then(|last| value_of(last, "id")) {
            next.query("after", &id);
        }
    });
    let mut events = pin!(socket.stream()?.events());
    let mut last = None;
    while let Some(event) = events.next().await {
        match event? {
            StreamEvent::Item(item) => {
                last = value_of(&item, "id");
                ticks.ledger.item(last.as_deref());
                ticks.items += 1;
            }
            StreamEvent::Connected(connection) => {
                ticks.connections += 1;
                ticks.ledger.connected();
                let words = match &last {
                    None => "connected".to_owned(),
                    Some(id) => {
                        let down = readable::duration(connection.down_for);
                        format!("connected again after {down}; goes on after item {id}")
                    }
                };
                let figures = json!({
                    "event": "connected",
                    "connection": connection.number,
                    "down_ms": millis(connection.down_for),
                    "after": last,
                });
                narrator.tell(Actor::Stream, &words, figures);
            }
            StreamEvent::Disconnected(lost) => {
                ticks.gaps += 1;
                let items = if lost.items == 1 {
                    "1 item".to_owned()
                } else {
                    format!("{} items", lost.items)
                };
                let wait = readable::duration(lost.wait);
                let why = format!("{}, jitter {}", POLICY.backoff.as_str(), POLICY.jitter);
                let words = format!("lost after {items} ({}); waits {wait} ({why})", lost.cause);
                let figures = json!({
                    "event": "lost",
                    "connection": lost.number,
                    "items": lost.items,
                    "wait_ms": millis(lost.wait),
                });
                narrator.tell(Actor::Stream, &words, figures);
            }
            _ => {}
        }
    }
    Ok(())
}

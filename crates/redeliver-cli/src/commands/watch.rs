//! `redeliver watch`: the items of a stream, over as many connections as it takes.

mod follow;
pub(super) mod item;
pub(super) mod ledger;
mod report;

use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use redeliver::{
    address::shown,
    sse::{EventSource, SseError},
    websocket::{WebSocket, WebSocketError},
};
use redeliver_policy::{Policy, duration};

use self::{
    follow::{End, Limits, follow},
    item::{Item, Resume},
    report::Report,
};
use crate::{
    ending::told_to_end,
    exit::{BadInput, Exit},
    output,
    policy_flags::{PolicyFlags, parse_limit},
};

/// Print the items of a stream (WebSocket or server-sent events), reconnect, and tell of each gap
#[derive(Args, Clone, Debug)]
#[command(after_long_help = AFTER_HELP, mut_arg("preset", |preset| preset.help(PRESET)))]
pub(crate) struct WatchArgs {
    /// ws:// or wss:// for WebSocket, http:// or https:// for server-sent events
    url: String,
    /// WebSocket: put the JSON field FIELD of the last item into the query parameter PARAM on each reconnection, or "none" [default: id=after]
    #[arg(long, value_name = "FIELD=PARAM")]
    resume: Option<Resume>,
    /// A header of each request; may be given several times
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// End after so many items
    #[arg(long, value_name = "N", value_parser = items, allow_hyphen_values = true)]
    max_items: Option<u64>,
    /// End after this long
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    run_for: Option<Duration>,
    /// A connection on which nothing comes for this long was lost [default: 60s for WebSocket, none for events]
    #[arg(long, value_name = "DURATION", value_parser = parse_limit, allow_hyphen_values = true)]
    idle_timeout: Option<Duration>,
    /// One JSON object a line on standard output: items, connections, gaps, the summary
    #[arg(long)]
    json: bool,
    /// Print the items alone: no gaps, no summary
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    policy: PolicyFlags,
}

const PRESET: &str = "Start from this preset: interactive, standard, batch, reconnect, aws-standard, grpc or finagle [default: reconnect]";
const AFTER_HELP: &str = "\
Items go to standard output, one a line (a line break inside one is shown as \\n); gaps and the summary go to standard error.

The policy starts from the preset reconnect: 1s to 30s, ±10 %, for ever. Its attempts are failures in a row, counted anew after a connection that gave an item; its deadline is that of one outage; its attempt timeout is for connecting, 20s unless said otherwise.

Server-sent events go on with Last-Event-ID. A WebSocket has no such rule, so watch has one: the field \"id\" of the last item, if it has one, becomes the query parameter \"after\". Name others with --resume, or none. Repeated and lost items are counted where the items carry whole numbers that rise by one.

It ends with the stream (status 204, close code 1000), by --max-items or --for, or when the reader of its output goes away, with 0. Bad input: 2. Given up: 10 permanent, 11 out of attempts, 12 past the deadline, 13 Retry-After too long. Ctrl-C: 130.

Examples:
  redeliver faulty --listen 127.0.0.1:3000 &
  redeliver watch ws://127.0.0.1:3000/ws --for 10s
  redeliver watch 'http://127.0.0.1:3000/sse?drop_after=5' --max-items 100 --base 50ms
  redeliver watch 'ws://127.0.0.1:3000/ws?every=0&until=9000' --base 1ms --max 5ms -q | wc -l
  redeliver watch wss://example.com/prices -H 'Authorization: Bearer …' --resume seq=from --json";

/// Follows the stream until it, its limits or its reader end it.
///
/// # Errors
/// An address, a header or a policy that makes no sense, or signals that cannot be listened for.
pub(crate) async fn run(args: WatchArgs) -> anyhow::Result<Exit> {
    let policy = args.policy.policy_from(Policy::RECONNECT)?;
    let mut report = Report::new(args.json, args.quiet);
    let limits = Limits {
        items: args.max_items.unwrap_or(u64::MAX),
        time: args.run_for,
        told: told_to_end().context("cannot listen for signals")?,
    };
    let scheme = args.url.split("://").next().unwrap_or_default();
    let end = match scheme.to_ascii_lowercase().as_str() {
        "ws" | "wss" => watch_socket(args, policy, limits, &mut report).await?,
        "http" | "https" => watch_events(args, policy, limits, &mut report).await?,
        _ => {
            let shown = shown(&args.url);
            let rule = "must begin with ws://, wss://, http:// or https://";
            return Err(BadInput(format!("URL {shown:?}: {rule}")).into());
        }
    };
    report.summary(&end);
    Ok(match end {
        End::Done => Exit::Done,
        End::GaveUp { reason, words } => {
            output::note(&format!("error: {words}"));
            Exit::GaveUp(reason)
        }
    })
}

async fn watch_socket(
    args: WatchArgs,
    policy: Policy,
    limits: Limits<impl Future<Output = ()>>,
    report: &mut Report,
) -> anyhow::Result<End> {
    let resume = args.resume.unwrap_or_default();
    let mut socket = WebSocket::connect(args.url).policy(policy);
    for (name, value) in headers(&args.headers)? {
        socket = socket.header(name, value);
    }
    if let Some(longest) = args.idle_timeout {
        // Three pings in the time, so that a lost one is no loss.
        socket = socket.idle_timeout(longest).keep_alive(longest / 3);
    }
    if let Resume::Field { field, parameter } = resume.clone() {
        socket = socket.resume(move |last, next| {
            if let Some(value) = last.and_then(|last| item::value_of(last, &field)) {
                next.query(&parameter, &value);
            }
        });
    }
    let stream = socket.stream().map_err(|error| match error {
        WebSocketError::Invalid(words) => BadInput(words),
        error => BadInput(error.to_string()),
    })?;
    let read = |message| Item::of_message(&message, &resume);
    Ok(follow(stream.events(), read, limits, report).await)
}

async fn watch_events(
    args: WatchArgs,
    policy: Policy,
    limits: Limits<impl Future<Output = ()>>,
    report: &mut Report,
) -> anyhow::Result<End> {
    if args.resume.is_some() {
        let rule = "is for WebSocket; server-sent events always go on with Last-Event-ID";
        return Err(BadInput(format!("--resume: {rule}")).into());
    }
    let mut source = EventSource::connect(args.url).policy(policy);
    for (name, value) in headers(&args.headers)? {
        source = source.header(name, value);
    }
    if let Some(longest) = args.idle_timeout {
        source = source.idle_timeout(longest);
    }
    let stream = source.stream().map_err(|error| match error {
        SseError::Invalid(words) => BadInput(words),
        error => BadInput(error.to_string()),
    })?;
    Ok(follow(stream.events(), Item::of_event, limits, report).await)
}

/// A header may be a secret: an error does not repeat it, which is why it is not read as the other flags are.
fn headers(lines: &[String]) -> Result<Vec<(&str, &str)>, BadInput> {
    let rule = "give a name, a colon and a value, such as 'Authorization: Bearer …'";
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| match line.split_once(':') {
            Some((name, value)) => Ok((name.trim(), value.trim())),
            None => Err(BadInput(format!(
                "--header: number {} has no colon; {rule}",
                index + 1
            ))),
        })
        .collect()
}

fn items(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number >= 1);
    number.ok_or_else(|| format!("give a whole number from 1 to {}", u64::MAX))
}

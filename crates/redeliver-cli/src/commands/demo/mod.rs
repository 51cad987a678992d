//! `redeliver demo`: a desk at work, an outbox told as a story, a call that is retried, a stream that reconnects, and the documents' exercises.

mod call;
mod desk;
mod exercise;
mod narrator;
mod outbox;
mod shop;
mod stage;
mod stream;

use std::time::Duration;

use clap::{Args, ValueEnum};
use redeliver::clock;
use redeliver_outbox::config::Listen;
use redeliver_policy::duration;

use self::exercise::Exercise;
use crate::exit::{BadInput, Exit};

/// See it work on this machine: an outbox, five destinations in trouble and the dashboard; a call that is retried; a stream that reconnects
#[derive(Args, Clone, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DemoArgs {
    /// What to see
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Show::Desk)]
    show: Show,
    /// Run one of the three exercises, and check each of its steps against the database
    #[arg(long, value_enum, ignore_case = true, conflicts_with_all = ["show", "run_for", "fail_rate", "listen", "open"])]
    exercise: Option<Exercise>,
    /// How long: with --show outbox the shop takes orders for 8s unless this says otherwise, the others go on until Ctrl-C
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    run_for: Option<Duration>,
    /// Percent of requests that fail: those for email, or with another --show all of them [default: 30, with --show call 40]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = clap::value_parser!(u8).range(0..=100))]
    fail_rate: Option<u8>,
    /// Seed of everything that happens by chance
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true)]
    seed: u64,
    /// Where the dashboard is: an address and a port, or off [default: 127.0.0.1:8420, or any free port if that is taken]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<Listen>,
    /// Open the dashboard in a browser
    #[arg(long)]
    open: bool,
    /// Leave the outbox's database there at the end, with its configuration, to look into it
    #[arg(long)]
    keep: bool,
    /// One JSON object a line: what happens, and at the end a summary
    #[arg(long)]
    json: bool,
}

/// What there is to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Show {
    /// A shop, a relay, its dashboard and five destinations: one is well, one fails, one throttles, one goes down and comes back, one
    /// rejects
    Desk,
    /// A shop whose orders reach an API that fails: committed, retried, quarantined, rescued
    Outbox,
    /// Two workers that POST with an Idempotency-Key and five attempts within 8s, and one that POSTs without a key
    Call,
    /// A WebSocket that drops every dozen items or so, and goes on where it was
    Stream,
}

const AFTER_HELP: &str = "\
Everything runs on this machine, against the fault server of `redeliver faulty` on a free port. The outbox is an SQLite file in a \
temporary folder, which is removed at the end unless --keep is given. At its end the desk gets a few seconds to deliver what can be \
delivered, and compares what the shop wrote, what the database has and what the API heard: the exit code is 1 if they do not agree.

Exercises:
  a  sends fail 30 % of the time: attempts grow, the next attempt is in the future, and in the end everything is sent
  b  a payload lacks a required field, another is no JSON: both are quarantined with their reason, nothing else is held up
  c  a person looks at the last error, mends the payload and puts the message back: pending, no attempts, due now; it arrives
An exercise exits with 1 if one of its steps did not happen.

Examples:
  redeliver demo --open                      a desk at work, and its dashboard in the browser
  redeliver demo --for 20s                   ends by itself, with a summary
  redeliver demo --keep                      and look into it afterwards: redeliver status --config …
  redeliver demo --show outbox --fail-rate 60
  redeliver demo --exercise a
  redeliver demo --show call --for 10s
  redeliver demo --json | tail -n 1";

/// Runs what was asked for until it is over or somebody ends it.
///
/// # Errors
/// The server cannot be started, the database cannot be made, or what was to be seen did not happen.
pub(crate) async fn run(args: DemoArgs) -> anyhow::Result<Exit> {
    if let Some(exercise) = args.exercise {
        return exercise::run(exercise, &args).await;
    }
    check(&args)?;
    match args.show {
        Show::Desk => desk::run(&args).await,
        Show::Outbox => outbox::run(&args).await,
        Show::Call => call::run(&args).await,
        Show::Stream => stream::run(&args).await,
    }
}

/// What does not go together is refused, so that nobody waits for what cannot come.
fn check(args: &DemoArgs) -> Result<(), BadInput> {
    let wrong = if args.keep && !matches!(args.show, Show::Desk | Show::Outbox) {
        "--keep: there is nothing to keep of this; it goes with --show desk, --show outbox and --exercise"
    } else if args.show != Show::Desk && (args.open || args.listen.is_some()) {
        "--open and --listen: there is no dashboard here; they go with --show desk"
    } else if args.open && args.listen == Some(Listen::Off) {
        "--open: there is no dashboard to open with --listen off"
    } else if matches!(args.listen, Some(Listen::At(address)) if !address.ip().is_loopback()) {
        "--listen: what is shown here is for this machine only; give a loopback address, such as 127.0.0.1:8421, or off"
    } else {
        return Ok(());
    };
    Err(BadInput(wrong.to_owned()))
}

/// Ready when the time is over, which is never where none is given.
async fn over(time: Option<Duration>) {
    match time {
        Some(time) => clock::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// How it ends, for the opening of what goes on until then.
fn end_of(time: Option<Duration>) -> String {
    match time {
        Some(time) => format!("It ends after {}, or with Ctrl-C.", duration::display(time)),
        None => "Ctrl-C ends it.".to_owned(),
    }
}

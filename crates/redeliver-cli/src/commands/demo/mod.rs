//! `redeliver demo`: an outbox at work, a call that is retried, a stream that reconnects, and the documents' exercises.

mod call;
mod exercise;
mod narrator;
mod outbox;
mod shop;
mod stage;
mod stream;

use std::time::Duration;

use clap::{Args, ValueEnum};
use redeliver::clock;
use redeliver_policy::duration;

use self::exercise::Exercise;
use crate::exit::{BadInput, Exit};

/// See it work on this machine: an outbox whose destination fails, a call that is retried, a stream that reconnects
#[derive(Args, Clone, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DemoArgs {
    /// What to see
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Show::Outbox)]
    show: Show,
    /// Run one of the three exercises, and check each of its steps against the database
    #[arg(long, value_enum, ignore_case = true, conflicts_with_all = ["show", "run_for", "fail_rate"])]
    exercise: Option<Exercise>,
    /// How long: the shop takes orders for 8s unless this says otherwise, the others go on until Ctrl-C
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    run_for: Option<Duration>,
    /// Percent of requests that the API answers with 503 [default: 30, with --show call 40]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = clap::value_parser!(u8).range(0..=100))]
    fail_rate: Option<u8>,
    /// Seed of everything that happens by chance
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true)]
    seed: u64,
    /// Leave the outbox's database there at the end, to look into it
    #[arg(long)]
    keep: bool,
    /// One JSON object a line: what happens, and at the end a summary
    #[arg(long)]
    json: bool,
}

/// What there is to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Show {
    /// A shop whose orders reach an API that fails: committed, retried, quarantined, rescued
    Outbox,
    /// Two workers that POST with an Idempotency-Key and five attempts within 8s, and one that POSTs without a key
    Call,
    /// A WebSocket that drops every dozen items or so, and goes on where it was
    Stream,
}

const AFTER_HELP: &str = "\
Everything runs on this machine, against the fault server of `redeliver faulty` on a free port. The outbox is an SQLite file in a \
temporary folder, which is removed at the end unless --keep is given.

Exercises:
  a  sends fail 30 % of the time: attempts grow, the next attempt is in the future, and in the end everything is sent
  b  a payload lacks a required field, another is no JSON: both are quarantined with their reason, nothing else is held up
  c  a person looks at the last error, mends the payload and puts the message back: pending, no attempts, due now; it arrives
An exercise exits with 1 if one of its steps did not happen.

Examples:
  redeliver demo                             an outbox at work, in about ten seconds
  redeliver demo --for 30s --fail-rate 60
  redeliver demo --keep                      and look into it afterwards: redeliver status --database …
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
    if args.keep && args.show != Show::Outbox {
        let wrong = "--keep: there is nothing to keep of this; it goes with --show outbox and --exercise";
        return Err(BadInput(wrong.to_owned()).into());
    }
    match args.show {
        Show::Outbox => outbox::run(&args).await,
        Show::Call => call::run(&args).await,
        Show::Stream => stream::run(&args).await,
    }
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

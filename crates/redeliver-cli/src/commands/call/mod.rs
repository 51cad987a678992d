//! `redeliver call`: curl with our retries.

pub(super) mod answer;
pub(super) mod input;
mod many;
pub(super) mod record;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use redeliver::http::{Client, DEFAULT_MAX_BODY_BYTES, RequestBuilder};
use redeliver_policy::{Policy, StopReason};

use crate::{
    ending::told_to_end,
    exit::{BadInput, Exit},
    output,
    policy_flags::{PolicyFlags, parse_limit},
};

/// Call a URL with retries; each attempt is told on standard error, the body comes on standard output
#[derive(Args, Clone, Debug)]
#[command(after_long_help = long_help())]
pub(crate) struct CallArgs {
    /// Where to: http:// or https://
    url: String,
    /// The method [default: GET, or POST with --data]
    #[arg(short = 'X', long = "request", value_name = "METHOD")]
    method: Option<String>,
    /// A header to send; may be given several times
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The body to send: text, @FILE, or - for standard input. Sent as JSON if it is JSON and no header says otherwise
    #[arg(short, long, value_name = "DATA|@FILE|-", allow_hyphen_values = true)]
    data: Option<String>,
    /// Say that sending it twice does no harm: a POST or PATCH then carries one Idempotency-Key in all its attempts
    #[arg(long)]
    idempotent: bool,
    /// The Idempotency-Key to send instead of a new one; makes the call idempotent
    #[arg(long, value_name = "KEY", conflicts_with = "count")]
    idempotency_key: Option<String>,
    /// Also print the status and the headers of the answer, before the body
    #[arg(short, long, conflicts_with = "json")]
    include: bool,
    /// Write the body to this file instead of standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "count")]
    output: Option<PathBuf>,
    /// The longest body that is read; a longer one ends the call
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_MAX_BODY_BYTES, allow_hyphen_values = true)]
    max_body: usize,
    /// Time for a connection to come about
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_limit, allow_hyphen_values = true)]
    connect_timeout: Duration,
    /// Make the call this many times, up to 1000000, and print a summary instead of bodies
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: Option<u32>,
    /// Calls at once, up to 1000
    #[arg(long, value_name = "N", default_value_t = 1, requires = "count", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    concurrency: u32,
    /// Let a Retry-After to one of the calls hold back all of them; without it each is on its own, as if in a process of its own
    #[arg(long, requires = "count")]
    share_retry_after: bool,
    /// Tell nothing on standard error but what went wrong
    #[arg(short, long)]
    quiet: bool,
    /// One JSON object on standard output: how it ended, the body, and each attempt
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    policy: PolicyFlags,
}

fn long_help() -> String {
    let mut help = String::from(
        "Examples:\n  redeliver call http://127.0.0.1:3000/fail-rate/40\n  \
         redeliver call -d '{\"amount\":5}' --idempotent http://127.0.0.1:3000/payment/authorize\n  \
         redeliver call --deadline 8s --attempt-timeout 1200ms --json http://127.0.0.1:3000/hang\n  \
         redeliver call -X POST --idempotent --count 50 http://127.0.0.1:3000/payment/authorize\n\n\
         A POST or PATCH without --idempotent is sent again only if it never left (a refused connection).\n\
         Where neither --deadline nor --attempt-timeout is given, an attempt may take 30s.\n\n\
         Exit codes:\n    0  a success: 2xx or 304; with --count, all of them\n    \
         1  with --count, some calls failed; or the output cannot be written\n    2  the command makes no sense\n",
    );
    let mut ends = StopReason::ALL.map(|reason| (Exit::GaveUp(reason).code(), reason));
    ends.sort_by_key(|(code, _)| *code);
    for (code, reason) in ends {
        help.push_str(&format!("  {code:3}  gave up: {reason}\n"));
    }
    help
}

/// Makes the call, or calls.
///
/// # Errors
/// What was asked makes no sense, or its output cannot be written.
pub(crate) async fn run(args: CallArgs) -> anyhow::Result<Exit> {
    let policy = args.policy.policy()?;
    let client = Client::builder()
        .policy(policy)
        .max_body_bytes(args.max_body)
        .connect_timeout(args.connect_timeout)
        .share_retry_after(args.count.is_none() || args.share_retry_after)
        .build()
        .context("cannot call")?;
    let request = request(&client, &args)?;
    args.output.as_deref().map(input::output).transpose()?;
    let end = told_to_end().context("cannot listen for Ctrl-C")?;
    match args.count {
        Some(count) => Ok(many::run(&args, policy, request, count, end).await),
        None => once(&args, policy, request, end).await,
    }
}

fn request(client: &Client, args: &CallArgs) -> Result<RequestBuilder, BadInput> {
    let data = args
        .data
        .as_deref()
        .map(|text| input::data("data", text))
        .transpose()?;
    let method = match (&args.method, &data) {
        (Some(method), _) => input::method(method)?,
        (None, Some(_)) => redeliver::http::Method::POST,
        (None, None) => redeliver::http::Method::GET,
    };
    let mut request = client.request(method, &args.url);
    let mut typed = false;
    for header in &args.headers {
        let (name, value) = input::header(header)?;
        typed |= name.eq_ignore_ascii_case("content-type");
        request = request.header(name, value);
    }
    if let Some(data) = data {
        if !typed && serde_json::from_slice::<serde::de::IgnoredAny>(&data).is_ok() {
            request = request.header("content-type", "application/json");
        }
        request = request.body(data);
    }
    if args.idempotent {
        request = request.idempotent();
    }
    if let Some(key) = &args.idempotency_key {
        request = request.idempotency_key(key);
    }
    request.check().map_err(|error| BadInput(error.to_string()))?;
    Ok(request)
}

async fn once(
    args: &CallArgs,
    policy: Policy,
    request: RequestBuilder,
    end: impl Future<Output = ()>,
) -> anyhow::Result<Exit> {
    let tell = (!args.quiet).then(|| Box::new(|words: &str, _| output::note(words)) as record::Tell);
    let record = Arc::new(record::Record::new(policy, tell));
    let call = record::watched(request, &record).send();
    let ended = tokio::select! {
        biased;
        () = end => answer::Ended::Cancelled,
        result = call => result.into(),
    };
    record.tell_end(&ended);
    answer::write(args, &record, &ended)?;
    Ok(ended.exit())
}

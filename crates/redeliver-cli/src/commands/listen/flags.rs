//! What a receiver is told at its start, checked.

use std::{
    env, fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::{ArgGroup, Args};
use redeliver_outbox::destination::webhook::Secret;
use redeliver_policy::duration;

use crate::{exit::BadInput, policy_flags::parse_limit};

/// The longest wait that a receiver keeps its sender for, or asks it for.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Receive what a relay sends, on this machine: shows each request, checks its signature, and fails on purpose if asked to
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  redeliver listen\n  redeliver listen --secret env:WEBHOOK_SECRET --fail-first 2\n  \
    redeliver listen --port 9000 --fail 30% --status 429 --retry-after 5s\n  \
    redeliver listen --inbox consumer.db --hang --fail-first 1\n  redeliver listen --count 3 --for 20s --json\n\n\
    Which requests fail: a share of them (--fail), the first deliveries of each id (--fail-first), or, if only the way of failing is given, all. How they \
    fail: with --status (503 if nothing is said), with --reject (422, which no relay tries again), or with --hang, which does the work and then never answers. What \
    is not signed as --secret asks is answered with 401.\n\n\
    With --inbox it does as a consumer should: it notes each id in redeliver_inbox in the same transaction as its work, a row in \
    redeliver_listen, and skips what it has seen before.\n\n\
    Exit codes:\n    0  done\n    1  something was not signed as it should be, or could not be read\n    2  the command makes no sense",
    group = ArgGroup::new("way")
)]
pub(crate) struct ListenArgs {
    /// The port to listen on; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    port: u16,
    /// The address to listen on; others than this machine can reach it if it is not loopback
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// What requests must be signed with: whsec_…, whpk_… (the public half of an ed25519 key), env:NAME or file:PATH; may be given several times
    #[arg(long = "secret", value_name = "SECRET", hide_default_value = true)]
    secrets: Vec<String>,
    /// How old a signature may be
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_limit, allow_hyphen_values = true)]
    pub(super) tolerance: Duration,
    /// Fail this share of requests, such as 30%
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true)]
    pub(super) fail: Option<u8>,
    /// Fail the first so many deliveries of each id
    #[arg(long, value_name = "N")]
    pub(super) fail_first: Option<u64>,
    /// Fail with this status, 300 to 599
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u16).range(300..=599), group = "way", allow_negative_numbers = true)]
    pub(super) status: Option<u16>,
    /// Fail by never answering, after the work is done
    #[arg(long, group = "way")]
    pub(super) hang: bool,
    /// Fail with 422, which says that no other attempt helps
    #[arg(long, group = "way")]
    pub(super) reject: bool,
    /// Let failures ask for this long a wait; whole seconds
    #[arg(long, value_name = "DURATION", value_parser = wait, conflicts_with = "hang", allow_hyphen_values = true)]
    pub(super) retry_after: Option<Duration>,
    /// Answer everything this late
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = wait, allow_hyphen_values = true)]
    pub(super) delay: Duration,
    /// The seed of --fail: the same seed and order of requests give the same failures
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// De-duplicate as a consumer should, in this SQLite file
    #[arg(long, value_name = "FILE")]
    pub(super) inbox: Option<PathBuf>,
    /// Show this many characters of a body at most
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(super) shown: usize,
    /// End after this many requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(super) count: Option<u64>,
    /// End after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_limit, allow_hyphen_values = true)]
    pub(super) run_for: Option<Duration>,
    /// One JSON object a line: the address, each request, the figures at the end
    #[arg(long)]
    pub(super) json: bool,
}

impl ListenArgs {
    pub(super) const fn address(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.port)
    }

    /// What checks signatures. No part of a secret is in the error.
    pub(super) fn secrets(&self) -> Result<Vec<Secret>, BadInput> {
        let secret = |(place, given): (usize, &String)| {
            let wrong = |rule: String| BadInput(format!("--secret, the {}.: {rule}", place + 1));
            let text = match (given.strip_prefix("env:"), given.strip_prefix("file:")) {
                (Some(name), _) => env::var(name).map_err(|_| {
                    wrong(format!(
                        "the environment variable {name} is not set, or is no text"
                    ))
                })?,
                (_, Some(path)) => fs::read_to_string(path)
                    .map_err(|error| wrong(format!("{path} cannot be read: {error}")))?,
                _ => given.clone(),
            };
            let secret: Result<Secret, _> = text.trim().parse();
            secret.map_err(|error| wrong(format!("{error}, whpk_ (its public half), env:NAME or file:PATH")))
        };
        self.secrets.iter().enumerate().map(secret).collect()
    }

    /// Whether all fail for which nothing else is said.
    pub(super) const fn always_fails(&self) -> bool {
        let chosen = self.fail.is_some() || self.fail_first.is_some();
        let way = self.status.is_some() || self.hang || self.reject || self.retry_after.is_some();
        way && !chosen
    }
}

fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let number = number.trim().parse().ok().filter(|number| *number <= 100);
    number.ok_or_else(|| "give a whole percentage from 0% to 100%".to_owned())
}

fn wait(text: &str) -> Result<Duration, String> {
    let wait = duration::parse(text).map_err(|error| error.to_string())?;
    let allowed = wait <= LONGEST_WAIT;
    allowed
        .then_some(wait)
        .ok_or_else(|| "give a duration from 0s to 1h".to_owned())
}

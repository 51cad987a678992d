use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use redeliver_lab::fleet::{
    FleetError, MAX_CAPACITY, MAX_CLIENTS, MAX_QUEUE, MIN_CAPACITY, OutageKind, Report, Scenario,
};
use redeliver_policy::duration;
use serde::Serialize;

use super::{
    contenders::{DEFAULT_POLICY, Yours},
    fleet_view, parse_seed, refused,
};
use crate::{
    exit::{BadInput, Exit},
    output,
    policy_flags::PolicyFlags,
};

const EXAMPLES: &str = "\
Each client makes one call at a time and thinks in between; together they ask for --load of the capacity. The server works off its \
capacity in order, sheds what its queue cannot hold, and works on requests whose client has stopped waiting as on any \
other. When the outage begins, the clients notice it at once and call (--herd). Time is virtual, and a seed always \
gives the same figures.

Unless flags say otherwise, the clients wait from 100ms to 5s with full jitter, for at most 60s, and give each attempt 1s. \
--compare takes yours (the flags' policy), none (no retries), fixed, exponential (both without jitter), full, equal, decorrelated (all \
with the flags' base, cap and limits) and presets by name, each with +budget or +breaker if wanted.

Examples:
  redeliver simulate fleet --clients 1000 --capacity 200/s --outage 10s
  redeliver simulate fleet --clients 5000 --outage 30s --compare none,full,full+breaker
  redeliver simulate fleet --preset aws-standard --budget 0.2 --outage-kind hang --svg storm.svg
  redeliver simulate fleet --compare standard,grpc,finagle --retry-after 2s --seed 7 --json";

/// A fleet of clients against a server of limited capacity, through an outage; policies side by side.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Fleet {
    /// How many clients there are
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_clients, allow_hyphen_values = true)]
    clients: u32,
    /// What the server can work off
    #[arg(long, value_name = "R/s", default_value = "200/s", value_parser = parse_rate, allow_hyphen_values = true)]
    capacity: f64,
    /// How long the server is down
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse, allow_hyphen_values = true)]
    outage: Duration,
    /// When the outage begins
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse, allow_hyphen_values = true)]
    outage_at: Duration,
    /// How the server fails: it refuses at once, or hangs without an answer
    #[arg(long, value_name = "KIND", default_value = "refuse")]
    outage_kind: HowItFails,
    /// The share of the clients that notice the outage at once and call
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = parse_number, allow_hyphen_values = true)]
    herd: f64,
    /// The share of the capacity that the clients ask for while all is well
    #[arg(long, value_name = "SHARE", default_value = "0.6", value_parser = parse_number, allow_hyphen_values = true)]
    load: f64,
    /// From when the server takes a request up to its answer
    #[arg(long, value_name = "DURATION", default_value = "50ms", value_parser = duration::parse, allow_hyphen_values = true)]
    latency: Duration,
    /// Requests that may wait at the server [default: half a second of its capacity]
    #[arg(long, value_name = "N", value_parser = parse_queue, allow_hyphen_values = true)]
    queue: Option<u32>,
    /// The Retry-After of a request that the server sheds
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    retry_after: Option<Duration>,
    /// Policies to set side by side [default: fixed,exponential,full,full+budget, and yours]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    compare: Option<Vec<String>>,
    /// A budget of this many retries to each call, for yours and for +budget [default of +budget: 0.1]
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio, allow_hyphen_values = true)]
    budget: Option<f64>,
    /// A circuit breaker for yours
    #[arg(long)]
    breaker: bool,
    /// Clients that share one budget and one breaker, as the tasks of a process do
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_clients, allow_hyphen_values = true)]
    process: u32,
    /// How long the run is [default: 2m, or three times the outage and 20s if that is more]
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    run_for: Option<Duration>,
    /// Where chance starts: the same seed gives the same figures
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_seed, allow_hyphen_values = true)]
    seed: u64,
    /// Draw it into this file as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    policy: PolicyFlags,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HowItFails {
    Refuse,
    Hang,
}

/// So many clients take long enough for somebody to ask where it is.
const MANY: u32 = 100_000;

#[derive(Serialize)]
struct Json<'a> {
    seed: u64,
    scenario: ScenarioJson,
    policies: &'a [Report],
}

#[derive(Serialize)]
struct ScenarioJson {
    clients: u32,
    capacity_per_s: f64,
    normal_load_per_s: f64,
    latency_ms: f64,
    queue: u32,
    retry_after_ms: Option<f64>,
    outage_at_ms: f64,
    outage_ms: f64,
    outage_kind: OutageKind,
    herd: f64,
    process: u32,
    run_ms: f64,
}

impl Fleet {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let scenario = self.scenario()?;
        let yours = Yours {
            policy: self.policy.policy_from(DEFAULT_POLICY)?,
            budget: self.budget,
            breaker: self.breaker,
        };
        let contenders = yours.contenders(self.compare.as_deref())?;
        let mut reports = Vec::with_capacity(contenders.len());
        for contender in &contenders {
            if self.clients >= MANY {
                let (at, all) = (reports.len() + 1, contenders.len());
                output::progress(&format!("{at} of {all} policies: {}", contender.name()));
            }
            reports.push(scenario.run(contender).map_err(|error| unfit(&error))?);
        }
        if self.clients >= MANY {
            output::progress("");
        }
        if let Some(path) = &self.svg {
            output::drawing(path, &fleet_view::svg(&scenario, &reports))?;
        }
        if self.json {
            output::json(&Json {
                seed: self.seed,
                scenario: described(&scenario),
                policies: &reports,
            });
        } else {
            output::line(&fleet_view::words(&scenario, &reports));
        }
        Ok(Exit::Done)
    }

    fn scenario(&self) -> Result<Scenario, BadInput> {
        let standard = Scenario::new(self.clients, self.capacity, self.outage);
        let later = self.outage_at.saturating_sub(standard.outage_at);
        let scenario = Scenario {
            load: self.load,
            latency: self.latency,
            queue: self.queue,
            retry_after: self.retry_after,
            outage_at: self.outage_at,
            outage_kind: match self.outage_kind {
                HowItFails::Refuse => OutageKind::Refuse,
                HowItFails::Hang => OutageKind::Hang,
            },
            herd: self.herd,
            process: self.process,
            run_for: self.run_for.unwrap_or(standard.run_for.saturating_add(later)),
            seed: self.seed,
            ..standard
        };
        scenario.validate().map_err(|error| refused(&error))?;
        Ok(scenario)
    }
}

fn unfit(error: &FleetError) -> BadInput {
    match error {
        FleetError::OutOfRange(error) => refused(error),
        error => BadInput(error.to_string()),
    }
}

fn described(scenario: &Scenario) -> ScenarioJson {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    ScenarioJson {
        clients: scenario.clients,
        capacity_per_s: scenario.capacity,
        normal_load_per_s: (scenario.normal_load() * 100.0).round() / 100.0,
        latency_ms: millis(scenario.latency),
        queue: scenario.queue_length(),
        retry_after_ms: scenario.retry_after.map(millis),
        outage_at_ms: millis(scenario.outage_at),
        outage_ms: millis(scenario.outage),
        outage_kind: scenario.outage_kind,
        herd: scenario.herd,
        process: scenario.process,
        run_ms: millis(scenario.run_for),
    }
}

fn parse_clients(text: &str) -> Result<u32, String> {
    whole(text, MAX_CLIENTS)
}

fn parse_queue(text: &str) -> Result<u32, String> {
    whole(text, MAX_QUEUE)
}

fn whole(text: &str, most: u32) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from 1 to {most}")),
    }
}

/// `500/s`: the unit is written out, as half of the world would count a bare number by the minute.
fn parse_rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").map(|number| number.trim().parse::<f64>());
    match number {
        Some(Ok(rate)) if (MIN_CAPACITY..=MAX_CAPACITY).contains(&rate) => Ok(rate),
        _ => Err(format!(
            "must be requests a second from {MIN_CAPACITY}/s to {MAX_CAPACITY}/s, such as 500/s"
        )),
    }
}

fn parse_number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("must be a number, such as 0.6".to_owned()),
    }
}

fn parse_ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (0.0..=100.0).contains(&ratio) => Ok(ratio),
        _ => Err("must be a number from 0 to 100, such as 0.1 for one retry to ten calls".to_owned()),
    }
}

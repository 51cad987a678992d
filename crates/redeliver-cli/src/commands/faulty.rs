//! `redeliver faulty`: a server that fails on purpose, to try clients against.

use std::fmt::Display;
use std::net::SocketAddr;
use std::pin::pin;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use redeliver_lab::faulty::{FAULT_PATHS, Faulty, FaultyConfig, FaultyStats, RequestRecord, RouteStats};
use redeliver_policy::duration;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use crate::{
    ending::{ended_by, told_to_end},
    output,
};

/// Serve an API that fails on purpose: overload, hangs, resets, broken bodies, streams that drop
#[derive(Args, Clone, Debug)]
#[command(after_long_help = long_help())]
pub(crate) struct FaultyArgs {
    /// Address to listen on, loopback only; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    listen: SocketAddr,
    /// Percent of payments that fail with 503, 0 to 100
    #[arg(long, value_name = "PERCENT", default_value_t = 40, value_parser = |text: &str| whole(text, 100_u8), allow_hyphen_values = true)]
    fail_rate: u8,
    /// Longest random delay before a payment is answered, up to 1h
    #[arg(long, value_name = "DURATION", default_value = "800ms", value_parser = delay, allow_hyphen_values = true)]
    max_delay: Duration,
    /// Seconds that the Retry-After of a failure asks for
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = |text: &str| whole(text, 31_536_000_u64), allow_hyphen_values = true)]
    retry_after: u64,
    /// Mean number of items before a stream drops its connection; 0 never drops
    #[arg(long, value_name = "ITEMS", default_value_t = 20, value_parser = |text: &str| whole(text, 1_000_000_000_u64), allow_hyphen_values = true)]
    drop_after: u64,
    /// Seed of all chance: the same seed and order of requests give the same faults
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = |text: &str| whole(text, u64::MAX), allow_hyphen_values = true)]
    seed: u64,
    /// End by itself after this long instead of at Ctrl-C
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    run_for: Option<Duration>,
    /// One JSON object a line: the address, each request, the figures at the end
    #[arg(long)]
    json: bool,
}

fn whole<N: Copy + FromStr + PartialOrd + Display>(text: &str, most: N) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("give a whole number from 0 to {most}"))
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = text
        .parse::<SocketAddr>()
        .ok()
        .filter(|address| address.ip().is_loopback());
    address
        .ok_or_else(|| "give a loopback address with its port, such as 127.0.0.1:3000 or [::1]:0".to_owned())
}

fn delay(text: &str) -> Result<Duration, String> {
    let delay = duration::parse(text).map_err(|error| error.to_string())?;
    let allowed = delay <= Duration::from_secs(60 * 60);
    allowed
        .then_some(delay)
        .ok_or_else(|| "give a duration from 0ms to 1h".to_owned())
}

fn long_help() -> String {
    let mut help = String::from(
        "Examples:\n  redeliver faulty --listen 127.0.0.1:3000\n  \
         redeliver faulty --fail-rate 90 --max-delay 0ms --seed 7 --for 30s --json\n  \
         curl -i -X POST http://127.0.0.1:3000/payment/authorize\n  \
         curl -i 'http://127.0.0.1:3000/unavailable-date?form=asctime&skew=3600'\n\nPaths (GET / tells their options):\n",
    );
    for row in FAULT_PATHS {
        help.push_str(&format!("  {:4} {:21} {}\n", row.method, row.path, row.does));
    }
    help
}

/// Runs the server until it is told to end.
///
/// # Errors
/// An address that cannot be had, or signals that cannot be listened for.
pub(crate) async fn run(args: FaultyArgs) -> anyhow::Result<()> {
    let told = told_to_end().context("cannot listen for signals")?;
    let mut end = pin!(ended_by(told, args.run_for));
    let server = Faulty::start(config(&args))
        .with_context(|| format!("cannot listen on {}; choose another --listen", args.listen))?;
    let mut records = server.records();
    let address = server.base_url();
    match args.json {
        true => output::json(&json!({ "listening": address })),
        false => output::line(&format!("listening on {address}  (GET / lists the faults)")),
    }
    loop {
        tokio::select! {
            () = &mut end => break,
            record = records.recv() => match record {
                Err(RecvError::Closed) => break,
                record => tell(record, args.json),
            },
        }
    }
    let stats = server.stats();
    match args.json {
        true => output::json(&json!({ "summary": stats })),
        false => output::line(&summary(&stats)),
    }
    server.shutdown().await;
    Ok(())
}

fn tell(record: Result<RequestRecord, RecvError>, as_json: bool) {
    match (record, as_json) {
        (Ok(record), true) => output::json(&record),
        (Ok(record), false) => output::line(&shown(&record)),
        (Err(RecvError::Lagged(missed)), true) => output::json(&json!({ "not_shown": missed })),
        (Err(RecvError::Lagged(missed)), false) => output::line(&format!("… {missed} requests not shown")),
        (Err(RecvError::Closed), _) => {}
    }
}

fn config(args: &FaultyArgs) -> FaultyConfig {
    FaultyConfig {
        listen: args.listen,
        fail_rate: args.fail_rate,
        max_delay: args.max_delay,
        retry_after: args.retry_after,
        drop_after: args.drop_after,
        seed: args.seed,
        ..FaultyConfig::default()
    }
}

fn shown(record: &RequestRecord) -> String {
    let ms = record.at_unix_ms;
    let (hour, minute, second) = (ms / 3_600_000 % 24, ms / 60_000 % 60, ms / 1000 % 60);
    let status = record
        .status
        .map_or("---".to_owned(), |status| status.to_string());
    let items = if record.items > 0 {
        format!("  {} items", record.items)
    } else {
        String::new()
    };
    format!(
        "{hour:02}:{minute:02}:{second:02}.{:03}Z  {status}  {:<16}  {:>6} ms  {} {}{items}",
        ms % 1000,
        record.fault.unwrap_or("ok"),
        record.delay_ms,
        record.method,
        record.path,
    )
}

fn summary(stats: &FaultyStats) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["path", "requests", "ok", "failed", "left", "items", "faults"]);
    for (path, route) in &stats.routes {
        table.add_row(row(path, route));
    }
    for column in table.column_iter_mut().skip(1).take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let payments = stats.payments;
    format!(
        "\n{table}\n{} requests on {} connections; {} payments authorized, {} replayed, {} answers lost; {} idempotency keys",
        stats.requests,
        stats.connections,
        payments.authorized,
        payments.replayed,
        payments.answers_lost,
        stats.idempotency_keys.len(),
    )
}

fn row(path: &str, route: &RouteStats) -> [String; 7] {
    let faults: Vec<_> = route
        .faults
        .iter()
        .map(|(fault, count)| format!("{fault} {count}"))
        .collect();
    let figures = [
        route.requests,
        route.successes,
        route.failures,
        route.abandoned,
        route.items,
    ];
    let [requests, successes, failures, abandoned, items] = figures.map(|figure| figure.to_string());
    [
        path.to_owned(),
        requests,
        successes,
        failures,
        abandoned,
        items,
        faults.join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: FaultyArgs,
    }

    fn parse(options: &[&str]) -> Result<FaultyArgs, String> {
        let words = std::iter::once("faulty").chain(options.iter().copied());
        Command::try_parse_from(words)
            .map(|command| command.args)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn without_options_it_is_the_documents_server() {
        assert_eq!(config(&parse(&[]).unwrap()), FaultyConfig::default());
    }

    #[test]
    fn an_option_out_of_range_is_named_with_what_is_allowed() {
        for (option, value, words) in [
            ("--listen", "0.0.0.0:80", "loopback"),
            ("--listen", "localhost", "127.0.0.1:3000"),
            ("--fail-rate", "101", "0 to 100"),
            ("--fail-rate", "x", "0 to 100"),
            ("--seed", "x", "whole number"),
            ("--max-delay", "2h", "1h"),
            ("--max-delay", "soon", "200ms"),
            ("--retry-after", "31536001", "0 to 31536000"),
            ("--drop-after", "-1", "--drop-after"),
            ("--retry-after", "-1", "0 to 31536000"),
            ("--for", "10", "no unit"),
        ] {
            let error = parse(&[option, value]).unwrap_err();
            assert!(error.contains(words), "{option} {value}: {error}");
        }
    }

    #[test]
    fn every_path_stands_in_the_help_as_it_is() {
        let help = <Command as clap::CommandFactory>::command()
            .render_long_help()
            .to_string();
        for row in FAULT_PATHS {
            assert!(help.contains(row.path), "{}", row.path);
        }
    }

    #[test]
    fn a_request_is_one_line() {
        let record = RequestRecord {
            at_unix_ms: 86_399_007,
            number: 3,
            method: "POST".to_owned(),
            path: "/payment/authorize".to_owned(),
            fault: Some("overload"),
            status: Some(503),
            delay_ms: 412,
            items: 0,
            idempotency_key: None,
        };
        assert_eq!(
            shown(&record),
            "23:59:59.007Z  503  overload             412 ms  POST /payment/authorize"
        );
    }
}

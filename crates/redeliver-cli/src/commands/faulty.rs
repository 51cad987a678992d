//! `redeliver faulty`: a server that fails on purpose, to try clients against.

use std::future::pending;
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use comfy_table::Table;
use redeliver_lab::faulty::{
    FAULT_PATHS, Faulty, FaultyConfig, FaultyServer, FaultyStats, RequestRecord, RouteStats,
};
use redeliver_policy::duration;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

/// Serve an API that fails on purpose: overload, hangs, resets, broken bodies, streams that drop
#[derive(Args, Clone, Debug)]
#[command(after_long_help = long_help())]
pub(crate) struct FaultyArgs {
    /// Address to listen on, loopback only; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Percent of payments that fail with 503, 0 to 100
    #[arg(long, value_name = "PERCENT", default_value_t = 40, value_parser = clap::value_parser!(u8).range(0..=100))]
    fail_rate: u8,
    /// Longest random delay before a payment is answered, up to 1h
    #[arg(long, value_name = "DURATION", default_value = "800ms", value_parser = duration::parse)]
    max_delay: Duration,
    /// Seconds that the Retry-After of a failure asks for
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    retry_after: u64,
    /// Mean number of items before a stream drops its connection; 0 never drops
    #[arg(long, value_name = "ITEMS", default_value_t = 20)]
    drop_after: u64,
    /// Seed of all chance: the same seed and order of requests give the same faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// End by itself after this long instead of at Ctrl-C
    #[arg(long = "for", value_name = "DURATION", value_parser = duration::parse)]
    run_for: Option<Duration>,
    /// One JSON object a line: the address, each request, the figures at the end
    #[arg(long)]
    json: bool,
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
/// An option out of range, an address that cannot be had, or an output that cannot be written.
pub(crate) async fn run(args: FaultyArgs) -> anyhow::Result<()> {
    let server = Faulty::start(FaultyConfig {
        listen: args.listen,
        fail_rate: args.fail_rate,
        max_delay: args.max_delay,
        retry_after: args.retry_after,
        drop_after: args.drop_after,
        seed: args.seed,
        ..FaultyConfig::default()
    });
    let server = match server {
        Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(error.into()),
        other => {
            other.with_context(|| format!("cannot listen on {}; choose another --listen", args.listen))?
        }
    };
    let told = tell(&server, &args).await;
    server.shutdown().await;
    match told {
        // Whoever read us has seen enough: `redeliver faulty | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write the output"),
    }
}

async fn tell(server: &FaultyServer, args: &FaultyArgs) -> io::Result<()> {
    let mut records = server.records();
    let address = server.base_url();
    line(&match args.json {
        true => json!({ "listening": address }).to_string(),
        false => format!("listening on {address}  (GET / lists the faults)"),
    })?;
    let mut end = pin!(end(args.run_for));
    loop {
        tokio::select! {
            () = &mut end => break,
            record = records.recv() => match record {
                Ok(record) if args.json => line(&serde_json::to_string(&record)?)?,
                Ok(record) => line(&shown(&record))?,
                Err(RecvError::Lagged(missed)) if args.json => line(&json!({ "not_shown": missed }).to_string())?,
                Err(RecvError::Lagged(missed)) => line(&format!("… {missed} requests not shown"))?,
                Err(RecvError::Closed) => break,
            },
        }
    }
    let stats = server.stats();
    line(&match args.json {
        true => json!({ "summary": stats }).to_string(),
        false => summary(&stats),
    })
}

/// Flushed line by line: whoever started us waits for the first.
fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// The first of Ctrl-C, SIGTERM and the time given.
async fn end(run_for: Option<Duration>) {
    match run_for {
        // Elapsed or told to end, it is over.
        Some(limit) => drop(tokio::time::timeout(limit, told_to_end()).await),
        None => told_to_end().await,
    }
}

async fn told_to_end() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupted => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    pending().await
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
    table.set_header(["path", "requests", "ok", "failed", "left", "items", "faults"]);
    for (path, route) in &stats.routes {
        table.add_row(row(path, route));
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

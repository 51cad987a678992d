//! The same call many times, and what became of the promises: no wait shorter than asked, no deadline passed.

use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Duration};

use comfy_table::{CellAlignment, Table, presets};
use futures_util::{StreamExt as _, stream};
use redeliver::{clock, http::RequestBuilder};
use redeliver_policy::{Policy, StopReason};
use serde::Serialize;

use super::{
    CallArgs,
    answer::Ended,
    record::{Record, millis, shown, watched},
};
use crate::{exit::Exit, output};

/// A call that ends this much after its deadline has passed it.
const DEADLINE_SLACK: Duration = Duration::from_millis(50);

/// Figures of all calls.
#[derive(Debug, Default, Serialize)]
struct Summary {
    calls: u32,
    succeeded: u32,
    /// Calls given up, by reason.
    failed: BTreeMap<&'static str, u32>,
    /// Calls by how many attempts they made.
    attempts: BTreeMap<u32, u32>,
    /// Attempts of all calls.
    requests: u64,
    /// Waits for which a server had asked.
    retry_after_waits: usize,
    /// Those of them that were shorter than asked.
    waits_shorter_than_asked: usize,
    /// Calls that ended more than 50 ms after their deadline.
    calls_past_deadline: u32,
    longest_ms: f64,
    median_ms: f64,
    elapsed_ms: f64,
    cancelled: bool,
    #[serde(skip)]
    times: Vec<Duration>,
}

/// One call, over.
struct Outcome {
    record: Arc<Record>,
    took: Duration,
    reason: Option<StopReason>,
}

pub(crate) async fn run(
    args: &CallArgs,
    policy: Policy,
    request: RequestBuilder,
    count: u32,
    end: impl Future<Output = ()>,
) -> Exit {
    let began = clock::now();
    let calls = stream::iter(0..count).map(|_| one(request.clone(), policy));
    let mut calls = calls.buffer_unordered(args.concurrency as usize);
    let mut end = pin!(end);
    let mut summary = Summary::default();
    loop {
        tokio::select! {
            biased;
            () = &mut end => {
                summary.cancelled = true;
                break;
            }
            outcome = calls.next() => match outcome {
                Some(outcome) => summary.add(&outcome, policy),
                None => break,
            },
        }
    }
    summary.finish(clock::now().since(began));
    match args.json {
        true => output::json(&summary),
        false => output::line(&table(&summary, policy)),
    }
    match summary {
        Summary { cancelled: true, .. } => Exit::GaveUp(StopReason::Cancelled),
        _ if summary.succeeded == summary.calls => Exit::Done,
        _ => Exit::Failed,
    }
}

async fn one(request: RequestBuilder, policy: Policy) -> Outcome {
    let record = Arc::new(Record::new(policy, None));
    let ended: Ended = watched(request, &record).send().await.into();
    Outcome {
        took: record.elapsed(),
        reason: ended.reason(),
        record,
    }
}

impl Summary {
    fn add(&mut self, outcome: &Outcome, policy: Policy) {
        let attempts = outcome.record.attempts().last().map_or(0, |last| last.attempt);
        let (asked, early) = outcome.record.asked_waits();
        let late = |deadline: Duration| outcome.took > deadline.saturating_add(DEADLINE_SLACK);
        self.calls += 1;
        match outcome.reason {
            None => self.succeeded += 1,
            Some(reason) => *self.failed.entry(reason.as_str()).or_default() += 1,
        }
        *self.attempts.entry(attempts).or_default() += 1;
        self.requests += u64::from(attempts);
        self.retry_after_waits += asked;
        self.waits_shorter_than_asked += early;
        self.calls_past_deadline += u32::from(policy.deadline.is_some_and(late));
        self.times.push(outcome.took);
    }

    fn finish(&mut self, elapsed: Duration) {
        self.times.sort_unstable();
        self.elapsed_ms = millis(elapsed);
        self.longest_ms = self.times.last().copied().map_or(0.0, millis);
        self.median_ms = self.times.get(self.times.len() / 2).copied().map_or(0.0, millis);
    }
}

fn table(summary: &Summary, policy: Policy) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut row = |name: &str, value: String, note: String| {
        table.add_row([name.to_owned(), value, note]);
    };
    let percent = 100.0 * f64::from(summary.succeeded) / f64::from(summary.calls.max(1));
    row("calls", summary.calls.to_string(), String::new());
    row(
        "succeeded",
        summary.succeeded.to_string(),
        format!("{percent:.1} %"),
    );
    for (reason, calls) in &summary.failed {
        row("gave up", calls.to_string(), (*reason).to_owned());
    }
    for (attempts, calls) in &summary.attempts {
        let plural = if *attempts == 1 { "" } else { "s" };
        row("after", calls.to_string(), format!("{attempts} attempt{plural}"));
    }
    row("requests", summary.requests.to_string(), String::new());
    row(
        "waits shorter than their Retry-After",
        summary.waits_shorter_than_asked.to_string(),
        format!("of {}", summary.retry_after_waits),
    );
    if let Some(deadline) = policy.deadline {
        row(
            "calls past their deadline by over 50 ms",
            summary.calls_past_deadline.to_string(),
            format!("deadline {}", shown(deadline)),
        );
    }
    let time = |ms: f64| shown(Duration::from_secs_f64(ms / 1e3));
    row("median time of a call", time(summary.median_ms), String::new());
    row("longest time of a call", time(summary.longest_ms), String::new());
    row("time in all", time(summary.elapsed_ms), String::new());
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

use std::{collections::BTreeMap, time::Duration};

use redeliver_policy::StopReason;
use serde::Serialize;

use super::{Contender, Scenario, latency::Latencies, recovery::time_to_recover};

/// What happened in one second of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Second {
    /// Requests that reached the server's address.
    pub load: u64,
    /// Calls that ended well.
    pub succeeded: u64,
    /// Calls that were given up.
    pub lost: u64,
    /// Requests that the server shed.
    pub shed: u64,
}

/// How one policy fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The policy's name.
    pub name: String,
    /// The policy and what is around it, in words.
    pub pipeline: String,
    /// The most requests in one second, from the beginning of the outage on.
    pub peak_load: u64,
    /// That, as a multiple of the capacity.
    pub peak_load_x: f64,
    /// The most requests in one second from the end of the outage on.
    pub peak_after: u64,
    /// That, as a multiple of the capacity.
    pub peak_after_x: f64,
    /// Requests sent to calls made.
    pub amplification: f64,
    /// Milliseconds from the end of the outage until all was well; `null` if it was not before the run ended.
    pub recover_ms: Option<u64>,
    /// The share of ended calls that ended well.
    pub success_rate: f64,
    /// Milliseconds within which half of the successful calls ended.
    pub latency_p50_ms: Option<f64>,
    /// Milliseconds within which all but one in a hundred of the successful calls ended.
    pub latency_p99_ms: Option<f64>,
    /// Calls made.
    pub calls: u64,
    /// Requests sent for them.
    pub attempts: u64,
    /// Calls that ended well.
    pub succeeded: u64,
    /// Calls that were given up.
    pub lost: u64,
    /// Calls that were given up, by reason.
    pub lost_by: BTreeMap<&'static str, u64>,
    /// Calls that were still going on when the run ended.
    pub unfinished: u64,
    /// Requests that the server worked on for nobody: their client had stopped waiting.
    pub wasted: u64,
    /// The whole run, second by second.
    pub series: Vec<Second>,
}

/// Counts while a run goes on. A call is counted if it began after the outage did; a second is counted in any case.
#[derive(Debug)]
pub(super) struct Tally {
    outage_at: u64,
    series: Vec<Second>,
    calls: u64,
    attempts: u64,
    succeeded: u64,
    lost: u64,
    lost_by: BTreeMap<&'static str, u64>,
    wasted: u64,
    latencies: Latencies,
}

const NANOS: u64 = 1_000_000_000;

impl Tally {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let seconds = scenario.run_for.as_nanos().div_ceil(u128::from(NANOS)) as usize;
        Self {
            outage_at: scenario.outage_at.as_nanos() as u64,
            series: vec![Second::default(); seconds],
            calls: 0,
            attempts: 0,
            succeeded: 0,
            lost: 0,
            lost_by: BTreeMap::new(),
            wasted: 0,
            latencies: Latencies::new(),
        }
    }

    fn counts(&self, began: u64) -> bool {
        began >= self.outage_at
    }

    fn second(&mut self, now: u64) -> &mut Second {
        &mut self.series[(now / NANOS) as usize]
    }

    pub(super) fn call(&mut self, now: u64) {
        self.calls += u64::from(self.counts(now));
    }

    pub(super) fn request(&mut self, now: u64, began: u64) {
        self.second(now).load += 1;
        self.attempts += u64::from(self.counts(began));
    }

    pub(super) fn shed(&mut self, now: u64) {
        self.second(now).shed += 1;
    }

    pub(super) fn wasted(&mut self, began: u64) {
        self.wasted += u64::from(self.counts(began));
    }

    pub(super) fn succeeded(&mut self, now: u64, began: u64) {
        self.second(now).succeeded += 1;
        if self.counts(began) {
            self.succeeded += 1;
            self.latencies.record(now - began);
        }
    }

    pub(super) fn lost(&mut self, now: u64, began: u64, reason: StopReason) {
        self.second(now).lost += 1;
        if self.counts(began) {
            self.lost += 1;
            *self.lost_by.entry(reason.as_str()).or_default() += 1;
        }
    }

    pub(super) fn report(self, scenario: &Scenario, contender: &Contender) -> Report {
        let peak_from = |moment: Duration| {
            let rest = self.series.iter().skip(moment.as_secs() as usize);
            rest.map(|second| second.load).max().unwrap_or_default()
        };
        let (peak_load, peak_after) = (peak_from(scenario.outage_at), peak_from(scenario.outage_end()));
        let times_capacity = |load: u64| rounded(load as f64 / scenario.capacity, 100.0);
        let millis = |share| {
            let quantile = self.latencies.quantile(share);
            quantile.map(|latency| rounded(latency.as_secs_f64() * 1e3, 10.0))
        };
        let recovered = time_to_recover(scenario, &self.series);
        Report {
            name: contender.name().to_owned(),
            pipeline: contender.pipeline().to_string(),
            peak_load,
            peak_load_x: times_capacity(peak_load),
            peak_after,
            peak_after_x: times_capacity(peak_after),
            amplification: rounded(ratio(self.attempts, self.calls), 1_000.0),
            recover_ms: recovered.map(|time| time.as_millis() as u64),
            success_rate: rounded(ratio(self.succeeded, self.succeeded + self.lost), 10_000.0),
            latency_p50_ms: millis(0.5),
            latency_p99_ms: millis(0.99),
            calls: self.calls,
            attempts: self.attempts,
            succeeded: self.succeeded,
            lost: self.lost,
            unfinished: self.calls - self.succeeded - self.lost,
            lost_by: self.lost_by,
            wasted: self.wasted,
            series: self.series,
        }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 / whole as f64,
    }
}

/// To one part in `parts`, which is what the figure is good for.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

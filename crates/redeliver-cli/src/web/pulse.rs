//! How it went in the last half hour: a point every two seconds, kept in memory, for the charts.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redeliver::clock;
use redeliver_outbox::{
    Timestamp,
    desk::{JobDesk, WorkerRecord},
    live,
};
use tokio::task::JoinHandle;

/// How often the pulse is taken.
pub(crate) const EVERY: Duration = Duration::from_secs(2);
/// How many points are kept: half an hour.
const KEPT: usize = 900;
/// The most destinations whose points are kept.
const DESTINATIONS: usize = 64;

/// How it went at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) at: Timestamp,
    /// Over all destinations; none if the outbox could not be asked.
    pub(crate) flow: Option<Flow>,
    destinations: BTreeMap<Arc<str>, Flow>,
}

/// What went where, a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Flow {
    pub(crate) delivered: f64,
    pub(crate) failed: f64,
    pub(crate) in_flight: u64,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
}

impl Point {
    /// Of one destination.
    pub(crate) fn of(&self, destination: &str) -> Option<Flow> {
        self.destinations.get(destination).copied()
    }

    fn at(at: Timestamp, workers: &[WorkerRecord]) -> Self {
        let alive = workers.iter().filter(|worker| worker.alive);
        let live = live::sum(alive.map(|worker| &worker.destinations));
        let flow = |figures: &live::LiveFigures| Flow {
            delivered: figures.delivered_per_second,
            failed: figures.failed_per_second,
            in_flight: figures.in_flight,
            p50_ms: figures.latency_p50_ms,
            p99_ms: figures.latency_p99_ms,
        };
        let total = live.values().fold(Flow::default(), |sum, figures| Flow {
            delivered: sum.delivered + figures.delivered_per_second,
            failed: sum.failed + figures.failed_per_second,
            in_flight: sum.in_flight + figures.in_flight,
            ..sum
        });
        Self {
            at,
            flow: Some(total),
            destinations: live
                .iter()
                .take(DESTINATIONS)
                .map(|(name, figures)| (name.as_str().into(), flow(figures)))
                .collect(),
        }
    }
}

type Points = Arc<Mutex<VecDeque<Point>>>;

/// The points, and the task that adds to them for as long as this lives.
#[derive(Debug)]
pub(crate) struct Pulse {
    points: Points,
    taking: JoinHandle<()>,
}

impl Pulse {
    pub(crate) fn taken(desk: Arc<dyn JobDesk>) -> Self {
        let points = Points::default();
        let taking = tokio::spawn(take(desk, Arc::clone(&points)));
        Self { points, taking }
    }

    /// The oldest first.
    pub(crate) fn points(&self) -> Vec<Point> {
        lock(&self.points).iter().cloned().collect()
    }

    pub(crate) fn last(&self) -> Option<Point> {
        lock(&self.points).back().cloned()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.taking.abort();
    }
}

async fn take(desk: Arc<dyn JobDesk>, points: Points) {
    loop {
        let at = Timestamp::wall();
        let point = match desk.workers().await {
            Ok(workers) => Point::at(at, &workers),
            Err(_) => Point {
                at,
                ..Point::default()
            },
        };
        keep(&mut lock(&points), point);
        clock::sleep(EVERY).await;
    }
}

fn keep(points: &mut VecDeque<Point>, point: Point) {
    if points.len() >= KEPT {
        points.pop_front();
    }
    points.push_back(point);
}

fn lock(points: &Points) -> MutexGuard<'_, VecDeque<Point>> {
    points.lock().unwrap_or_else(PoisonError::into_inner)
}

//! How it went in the last half hour: a point every two seconds, kept in memory, for the charts.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redeliver::clock;
use redeliver_outbox::{
    Timestamp,
    desk::{self, JobDesk},
    live,
};
use tokio::task::JoinHandle;

/// How often the pulse is taken.
pub(crate) const EVERY: Duration = Duration::from_secs(2);
/// How many points are kept: half an hour.
const KEPT: usize = 900;
/// What is inserted is counted over so long, as the workers count what they send.
const OVER: Duration = Duration::from_secs(60);
/// The most destinations whose points are kept.
const DESTINATIONS: usize = 64;

/// How it went at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) at: Timestamp,
    /// Over all destinations; none if the outbox could not be asked.
    pub(crate) flow: Option<Flow>,
    /// Inserted a second, over the last minute; none as long as that is not known.
    pub(crate) inserted: Option<f64>,
    /// The highest number of a message.
    sequence: Option<i64>,
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

    fn at(at: Timestamp, pulse: &desk::Pulse) -> Self {
        let alive = pulse.workers.iter().filter(|worker| worker.alive);
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
            inserted: None,
            sequence: Some(pulse.sequence),
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
        let point = match desk.pulse().await {
            Ok(pulse) => Point::at(at, &pulse),
            Err(_) => Point {
                at,
                ..Point::default()
            },
        };
        keep(&mut lock(&points), point);
        clock::sleep(EVERY).await;
    }
}

fn keep(points: &mut VecDeque<Point>, mut point: Point) {
    point.inserted = inserted(points, &point);
    if points.len() >= KEPT {
        points.pop_front();
    }
    points.push_back(point);
}

fn inserted(points: &VecDeque<Point>, now: &Point) -> Option<f64> {
    let lately = |point: &&Point| point.sequence.is_some() && now.at.since(point.at) <= OVER;
    let before = points.iter().find(lately)?;
    let given = now.sequence?.checked_sub(before.sequence?)?.max(0);
    let seconds = now.at.since(before.at).as_secs_f64();
    (seconds > 0.0).then(|| given as f64 / seconds)
}

fn lock(points: &Points) -> MutexGuard<'_, VecDeque<Point>> {
    points.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(seconds: i64, sequence: Option<i64>) -> Point {
        Point {
            at: Timestamp::from_millis(seconds * 1_000),
            sequence,
            ..Point::default()
        }
    }

    #[test]
    fn what_is_inserted_is_counted_over_the_last_minute() {
        let mut points = VecDeque::new();
        for (seconds, sequence) in [(0, 0), (30, 3_000), (90, 3_600)] {
            keep(&mut points, point(seconds, Some(sequence)));
        }
        keep(&mut points, point(92, None));
        keep(&mut points, point(94, Some(3_800)));
        let counted: Vec<Option<f64>> = points.iter().map(|point| point.inserted).collect();
        assert_eq!(counted, [None, Some(100.0), Some(10.0), None, Some(50.0)]);
    }

    #[test]
    fn half_an_hour_is_kept() {
        let mut points = VecDeque::new();
        for seconds in 0..2_000 {
            keep(&mut points, point(seconds, None));
        }
        assert_eq!(
            (points.len(), points[0].at),
            (KEPT, Timestamp::from_millis(1_100_000))
        );
    }
}

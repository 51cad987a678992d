//! `/metrics`: figures for Prometheus. What the relays of this process count is read where it is counted; what is in the database is as it
//! was last counted, so that no scrape waits for it.

mod labels;
mod outbox;
mod page;
mod relay;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use redeliver::clock;
use redeliver_outbox::{destination::Routes, relay::Figures};

use self::{
    labels::Names,
    outbox::Counts,
    page::{Format, Page},
};
use super::{problem::Problem, sampled::Sampled, site::Site};
use crate::telemetry::SpanCounts;

/// What metrics are made from, besides the outbox.
#[derive(Debug)]
pub(crate) struct Metrics {
    relays: Counting,
    spans: Arc<SpanCounts>,
    kept: Arc<Kept>,
}

/// The figures of relays: of those that ran by settings that are not in force any more, and of those that run now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counting {
    pub(crate) past: Vec<Arc<Figures>>,
    pub(crate) now: Vec<Arc<Figures>>,
    /// What all of them are called in the tables.
    pub(crate) workers: Vec<String>,
}

impl Counting {
    /// Of all of them: what only grows must not begin again with other settings.
    fn all(&self) -> impl Iterator<Item = &Figures> {
        self.past.iter().chain(&self.now).map(|figures| &**figures)
    }
}

/// What outlives a configuration.
#[derive(Debug)]
struct Kept {
    names: Names,
    lanes: Sampled<BTreeMap<String, u64>>,
    started: Duration,
}

impl Metrics {
    /// Of a process that has just begun, with these relays between the outbox and these destinations.
    pub(crate) fn of(relays: Counting, spans: Arc<SpanCounts>, routes: &Routes) -> Self {
        let kept = Kept {
            names: Names::of(routes.iter().map(|(name, _)| name)),
            lanes: Sampled::default(),
            started: clock::wall(),
        };
        Self {
            relays,
            spans,
            kept: Arc::new(kept),
        }
    }

    /// Whether a worker is one of this process.
    pub(super) fn is_ours(&self, worker: &str) -> bool {
        self.relays.workers.iter().any(|ours| ours == worker)
    }

    /// Of the same process with other relays or destinations.
    pub(crate) fn renewed(&self, relays: Counting, routes: &Routes) -> Self {
        for (name, _) in routes.iter() {
            self.kept.names.label(name);
        }
        Self {
            relays,
            spans: Arc::clone(&self.spans),
            kept: Arc::clone(&self.kept),
        }
    }
}

pub(super) fn router() -> Router<Arc<Site>> {
    Router::new().route("/metrics", get(metrics))
}

async fn metrics(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    let metrics = &site.metrics;
    let (told, lanes) = tokio::join!(site.told(), lanes(&site));
    let mut page = Page::new(format);
    process(&mut page, metrics.kept.started);
    relay::write(&mut page, &metrics.relays, &metrics.kept.names);
    spans(&mut page, &metrics.spans);
    let counts = match &told {
        Ok(told) => Ok(told.counted.as_ref().map(|counted| Counts {
            report: &told.report,
            age: counted.age(),
            configured: site.about.routes.iter().map(|(name, _)| name).collect(),
            lanes: lanes.as_deref(),
        })),
        Err(_) => Err(()),
    };
    outbox::write(&mut page, counts, &metrics.kept.names);
    ([(header::CONTENT_TYPE, format.content_type())], page.finish()).into_response()
}

fn process(page: &mut Page, started: Duration) {
    page.gauge("redeliver_build_info", "1, with the version of the program.")
        .count(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.gauge(
        "process_start_time_seconds",
        "When the process began, in seconds since 1970.",
    )
    .seconds(&[], started);
}

fn spans(page: &mut Page, spans: &SpanCounts) {
    let mut family = page.counter(
        "redeliver_spans_total",
        "Spans of attempts: exported, dropped because the collector did not keep up, or failed because it did not take them.",
    );
    for (result, count) in spans.all() {
        family.count(&[("result", result)], count);
    }
}

/// How many lanes stand still, by destination, if that was counted.
async fn lanes(site: &Site) -> Option<Arc<BTreeMap<String, u64>>> {
    let desk = Arc::clone(&site.desk);
    let counted: Result<_, Problem> = site
        .metrics
        .kept
        .lanes
        .get(move || async move {
            let mut lanes: BTreeMap<String, u64> = BTreeMap::new();
            for (lane, _, _) in desk.parked_lanes().await? {
                *lanes.entry(lane.destination).or_default() += 1;
            }
            Ok(lanes)
        })
        .await;
    counted.ok().flatten().map(|counted| counted.value)
}

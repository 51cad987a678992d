//! The relays of this process.

use std::{sync::Arc, time::Duration};

use redeliver::clock;
use redeliver_outbox::relay::{Figures, Finished, Relay, RelayConfig, Witness};
use tokio::{sync::watch, task::JoinSet};

use super::{
    super::{database::Outbox, settings::Settings},
    shown::Reader,
};
use crate::{output, telemetry::Telemetry, web::Counting};

/// How long relays that run by an old configuration are waited for before those with the new one begin beside them.
const HANDOVER: Duration = Duration::from_secs(2);

/// The relays of this process: as many as it is configured to run on a server, and one on SQLite, which has one writer.
pub(super) struct Relays {
    running: JoinSet<Ended>,
    /// Of all that have ever run, so that sums only grow.
    pub(super) figures: Vec<Arc<Figures>>,
    /// Where those of the newest settings begin.
    running_since: usize,
    stop: watch::Sender<bool>,
    witness: Arc<dyn Witness>,
    /// The names of all that have ever run: none is ever given twice.
    workers: Vec<String>,
}

/// How a relay ended.
struct Ended {
    finished: Finished,
    /// Whether it was told to.
    told: bool,
}

impl Relays {
    pub(super) fn start(
        outbox: &Outbox,
        reader: &Reader,
        witness: Arc<dyn Witness>,
        telemetry: &Telemetry,
    ) -> Self {
        let mut relays = Self {
            running: JoinSet::new(),
            figures: Vec::new(),
            running_since: 0,
            stop: watch::Sender::new(false),
            witness,
            workers: Vec::new(),
        };
        relays.begin(outbox, reader, telemetry);
        relays
    }

    /// The figures of those that run by the newest settings, and of those that ran before.
    pub(super) fn counting(&self) -> Counting {
        let (past, now) = self.figures.split_at(self.running_since);
        Counting {
            past: past.to_vec(),
            now: now.to_vec(),
            workers: self.workers.clone(),
        }
    }

    fn begin(&mut self, outbox: &Outbox, reader: &Reader, telemetry: &Telemetry) {
        self.running_since = self.figures.len();
        let settings = &outbox.settings;
        let count = if settings.is_sqlite() {
            1
        } else {
            settings.relay.workers.max(1)
        };
        self.stop = watch::Sender::new(false);
        for _ in 0..count {
            let store = Arc::clone(&outbox.opened.store);
            let config = config(settings);
            self.workers.push(config.worker.0.clone());
            let mut relay = Relay::new(store, reader.of(&settings.routes), config)
                .witnessed_by(Arc::clone(&self.witness));
            if let Some(tracer) = telemetry.tracer() {
                relay = relay.traced_by(tracer);
            }
            self.figures.push(relay.figures());
            let mut stopped = self.stop.subscribe();
            self.running.spawn(async move {
                // A sender that is gone says the same as one that says stop.
                let finished = relay
                    .run(async { drop(stopped.wait_for(|stop| *stop).await) })
                    .await;
                let told = *stopped.borrow();
                Ended { finished, told }
            });
        }
    }

    /// Goes on by other settings. What is on its way is finished by the old ones, and waited for only for a moment: one destination that
    /// is slow must not hold up the others.
    pub(super) async fn follow(&mut self, outbox: &Outbox, reader: &Reader, telemetry: &Telemetry) {
        self.stop.send_replace(true);
        let handover = clock::now();
        while !self.running.is_empty() {
            let left = HANDOVER.saturating_sub(clock::now().since(handover));
            match tokio::time::timeout(left, self.running.join_next()).await {
                Ok(Some(Err(error))) => output::note(&format!("a relay ended early: {error}")),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.begin(outbox, reader, telemetry);
    }

    /// Waits until a relay ends that nobody told to, and says how: its shards are of no use to anybody until somebody starts another.
    pub(super) async fn broken(&mut self) -> String {
        while let Some(ended) = self.running.join_next().await {
            match ended {
                // By settings that are not in force any more.
                Ok(Ended { told: true, .. }) => {}
                Ok(_) => return "it returned although nobody had told it to".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
        std::future::pending().await
    }

    pub(super) async fn stop(mut self) -> Finished {
        self.stop.send_replace(true);
        let mut all = Finished {
            clean: true,
            abandoned: 0,
        };
        while let Some(ended) = self.running.join_next().await {
            match ended {
                Ok(Ended { finished, .. }) => {
                    all.clean &= finished.clean;
                    all.abandoned += finished.abandoned;
                }
                Err(error) => {
                    output::note(&format!("a relay ended early: {error}"));
                    all.clean = false;
                }
            }
        }
        all
    }
}

fn config(settings: &Settings) -> RelayConfig {
    let relay = &settings.relay;
    RelayConfig {
        lease: relay.lease,
        window: relay.window,
        window_bytes: relay.window_bytes,
        poll_latest: relay.poll_latest,
        shutdown: relay.shutdown,
        ..RelayConfig::unique()
    }
}

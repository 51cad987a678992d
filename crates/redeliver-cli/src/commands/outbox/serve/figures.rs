use std::{convert::Infallible, sync::Arc, time::Duration};

use redeliver::clock;
use redeliver_outbox::relay::Figures;
use serde::Serialize;
use serde_json::Value;

use super::telling::Telling;

/// How often the figures are told.
const EVERY: Duration = Duration::from_secs(2);

/// What the relays of this process have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Sum {
    attempts: u64,
    delivered: u64,
    retried: u64,
    dead: u64,
    fanned_out: u64,
    pub(super) in_flight: u64,
    pub(super) shards: u64,
}

impl Sum {
    pub(super) fn of(figures: &[Arc<Figures>]) -> Self {
        figures.iter().fold(Self::default(), |sum, figures| Self {
            attempts: sum.attempts + figures.attempts(),
            delivered: sum.delivered + figures.delivered(),
            retried: sum.retried + figures.retried(),
            dead: sum.dead + figures.dead(),
            fanned_out: sum.fanned_out + figures.fanned_out(),
            in_flight: sum.in_flight + figures.in_flight(),
            shards: sum.shards + figures.shards(),
        })
    }

    pub(super) fn words(&self) -> String {
        let mut words = format!(
            "{} delivered, {} put off for a retry, {} quarantined, in {} attempts",
            self.delivered, self.retried, self.dead, self.attempts
        );
        if self.fanned_out > 0 {
            words.push_str(&format!("; {} events fanned out", self.fanned_out));
        }
        words
    }

    /// The figures as a line of JSON, with what is told beside them.
    pub(super) fn form<'a>(&'a self, event: &'a str, more: &'a Value) -> impl Serialize + 'a {
        #[derive(Serialize)]
        struct Form<'a> {
            event: &'a str,
            #[serde(flatten)]
            sum: &'a Sum,
            #[serde(flatten)]
            more: &'a Value,
        }
        Form {
            event,
            sum: self,
            more,
        }
    }
}

/// Tells the figures every few seconds, for as long as the relay runs.
pub(super) async fn tell(telling: Telling, figures: &[Arc<Figures>]) -> Infallible {
    let mut before = Sum::of(figures);
    loop {
        clock::sleep(EVERY).await;
        let now = Sum::of(figures);
        let rate = now.delivered.saturating_sub(before.delivered) as f64 / EVERY.as_secs_f64();
        telling.figures(&now, rate);
        before = now;
    }
}

//! What every answer is made from.

use std::sync::Arc;

use redeliver_outbox::{
    desk::{Desk, StatusReport},
    destination::Routes,
};

use super::{
    guard::Guard,
    metrics::Metrics,
    problem::Problem,
    sampled::{Counted, Sampled},
};

/// The outbox behind the desk, and who may come to it.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) guard: Guard,
    pub(crate) about: About,
    pub(super) metrics: Metrics,
    status: Sampled<StatusReport>,
}

/// What the outbox is, for people.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The database's address, without its secrets.
    pub(crate) database: String,
    /// Where messages go.
    pub(crate) routes: Routes,
}

impl Site {
    pub(crate) fn new(desk: Arc<dyn Desk>, guard: Guard, about: About, metrics: Metrics) -> Self {
        Self {
            desk,
            guard,
            about,
            metrics,
            status: Sampled::default(),
        }
    }

    /// The figures, as fresh as they can be had without making anybody wait; none while they are counted for the first time.
    pub(crate) async fn status(&self) -> Result<Option<Counted<StatusReport>>, Problem> {
        let desk = Arc::clone(&self.desk);
        self.status.get(move || async move { desk.status().await }).await
    }

    /// Somebody changed something here.
    pub(crate) fn changed(&self) {
        self.status.outdate();
    }

    /// The figures for whoever waits for them: a program.
    pub(crate) async fn figures(&self) -> Result<Arc<StatusReport>, Problem> {
        match self.status().await? {
            Some(counted) if counted.is_exact() && self.status.is_true(&counted) => Ok(counted.value),
            _ => Ok(Arc::new(self.desk.status().await?)),
        }
    }
}

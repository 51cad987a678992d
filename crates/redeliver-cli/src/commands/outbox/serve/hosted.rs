//! The relay and the desk of a configuration, for another command that shows them at work.

use std::{convert::Infallible, path::Path, sync::Arc};

use redeliver_outbox::{
    config::Listen,
    desk::Desk,
    relay::{Finished, Witness},
};

use super::{
    super::{database::Outbox, settings::Settings},
    door::{Door, OpenDesk},
    jobs,
    relays::Relays,
    shown::Reader,
};
use crate::telemetry::Telemetry;

/// What `serve` runs, without what it says.
pub(in crate::commands) struct Hosted {
    outbox: Outbox,
    relays: Relays,
    open: OpenDesk,
}

impl Hosted {
    /// Makes the tables of a new database, opens the desk and starts the relay. The environment is not asked: what is shown has an outbox
    /// of its own, and `REDELIVER_DATABASE` names one that somebody means in earnest.
    pub(in crate::commands) async fn start(
        config: &Path,
        listen: Option<Listen>,
        witness: Arc<dyn Witness>,
    ) -> anyhow::Result<Self> {
        let settings = Settings::read_alone(config)?;
        let door = Door::choose(listen, false, &settings.server)?;
        let outbox = Outbox::open(settings).await?;
        let layout = outbox.desk().usual_layout();
        outbox.desk().migrate(layout, None).await?;
        let (open, telemetry) = (door.open_anywhere().await?, Telemetry::start(None));
        let relays = Relays::start(&outbox, &Reader::default(), witness, &telemetry);
        let desk = Arc::clone(&outbox.opened.desk);
        open.show(&outbox, desk, relays.counting(), &telemetry);
        Ok(Self { outbox, relays, open })
    }

    pub(in crate::commands) fn desk(&self) -> &dyn Desk {
        self.outbox.desk()
    }

    /// Where the dashboard is, if it is anywhere.
    pub(in crate::commands) fn url(&self) -> Option<&str> {
        self.open.url()
    }

    /// What goes on beside the relay, for as long as it runs: the steps of jobs that were begun at the desk.
    pub(in crate::commands) async fn keep(&self) -> Infallible {
        jobs::step(&self.outbox, |_| {}).await
    }

    /// Lets the relay finish what it is doing, then closes the desk.
    pub(in crate::commands) async fn stop(self) -> Finished {
        let finished = self.relays.stop().await;
        self.open.close().await;
        finished
    }
}

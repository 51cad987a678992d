//! All that is known of a destination, from the configuration, the tables and the workers.

use std::collections::BTreeSet;

use redeliver_outbox::{
    Hold, Timestamp,
    desk::{Desk, Figures, Record, StatusReport},
    destination::Routes,
    live::{self, LiveFigures},
    store,
};

use super::{
    super::database::Outbox,
    words::{refused_verdict, trouble_of},
};
use crate::{exit::NotFound, readable};

/// One destination.
#[derive(Debug)]
pub(crate) struct Overview {
    pub(crate) name: String,
    /// Whether this configuration has it.
    pub(crate) configured: bool,
    pub(crate) hold: Option<Hold>,
    /// How the workers find it; none if no worker that is alive has it.
    pub(crate) live: Option<LiveFigures>,
    pub(crate) figures: Figures,
}

impl Overview {
    /// The word for how it is.
    pub(crate) fn state(&self) -> &'static str {
        match (&self.hold, &self.live) {
            (Some(hold), _) => hold.kind.as_str(),
            (None, Some(live)) => live.state.as_str(),
            (None, None) => "-",
        }
    }

    pub(crate) fn trouble(&self, now: Timestamp) -> Option<String> {
        trouble_of(self.hold.as_ref(), self.live.as_ref(), now)
    }
}

/// Every destination that the configuration has, that messages name, or that is held.
pub(crate) fn all(routes: &Routes, report: &StatusReport) -> Vec<Overview> {
    let mut live = report.live();
    let configured = |name: &str| routes.get(name).is_some();
    let names: BTreeSet<String> = routes
        .iter()
        .map(|(name, _)| name.to_owned())
        .chain(report.destinations.keys().cloned())
        .chain(report.holds.iter().map(|hold| hold.destination.clone()))
        .chain(live.keys().cloned())
        // What fans events out has no name, and is no destination.
        .filter(|name| !name.is_empty())
        .collect();
    names
        .into_iter()
        .map(|name| Overview {
            configured: configured(&name),
            hold: report.holds.iter().find(|hold| hold.destination == name).cloned(),
            live: live.remove(&name),
            figures: report.destinations.get(&name).copied().unwrap_or_default(),
            name,
        })
        .collect()
}

/// What keeps a message from its end.
#[derive(Debug)]
pub(crate) struct Obstacles {
    /// Its destination is held.
    pub(crate) hold: Option<Hold>,
    /// What is the matter with its destination, as it continues "billing is …".
    pub(crate) trouble: Option<String>,
    /// A sentence if the database refuses its verdict, or nothing.
    pub(crate) refused: String,
}

/// What keeps a message from its end, as far as its destination and the workers know.
pub(crate) async fn obstacles(desk: &dyn Desk, record: &Record, now: Timestamp) -> store::Result<Obstacles> {
    let name = &record.destination;
    let holds = desk.holds().await?;
    let hold = holds.into_iter().find(|hold| hold.destination == *name);
    let workers = desk.workers().await?;
    let alive = workers.iter().filter(|worker| worker.alive);
    let mut stuck = alive
        .clone()
        .flat_map(|worker| worker.destinations.values())
        .flat_map(|figures| &figures.stuck_verdicts);
    let stuck = stuck.find(|stuck| stuck.id == record.id);
    let live = live::sum(alive.map(|worker| &worker.destinations));
    Ok(Obstacles {
        trouble: trouble_of(hold.as_ref(), live.get(name), now),
        refused: stuck.map_or_else(String::new, |stuck| refused_verdict(stuck, now)),
        hold,
    })
}

/// The sentence that nobody has heard of such a destination.
pub(in crate::commands::outbox) fn unknown(outbox: &Outbox, name: &str, next: &str) -> anyhow::Error {
    let names: Vec<&str> = outbox.settings.routes.iter().map(|(name, _)| name).collect();
    NotFound(format!(
        "there is no destination {} in this configuration ({}), and no message for one; {next}",
        readable::line(name, 80),
        names.join(", ")
    ))
    .into()
}

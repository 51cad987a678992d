//! What every answer is made from.

use std::{sync::Arc, time::Duration};

use redeliver_outbox::{
    Timestamp,
    desk::{
        self, Desk, Discreet, Filter, Finding, IssueDetail, JobDesk, Outlook, StandingLane, StatusReport,
        Storage,
    },
    destination::Routes,
};

use super::{
    guard::Guard,
    metrics::Metrics,
    problem::Problem,
    pulse::Pulse,
    sampled::{Counted, Sampled},
};
use crate::commands::outbox::dead::forgotten_warning;

/// The outbox behind the desk, and who may come to it.
#[derive(Debug)]
pub(crate) struct Site {
    /// As the routes let it be seen.
    pub(crate) desk: Arc<dyn JobDesk>,
    stored: Arc<dyn JobDesk>,
    pub(crate) guard: Guard,
    pub(crate) about: About,
    pub(crate) metrics: Metrics,
    known: Arc<Known>,
}

/// What is known of the outbox. Another configuration changes nothing of it.
#[derive(Debug)]
struct Known {
    pulse: Pulse,
    beat: Sampled<desk::Pulse>,
    status: Sampled<StatusReport>,
    issues: Sampled<Vec<IssueDetail>>,
    outlook: Sampled<Outlook>,
    lanes: Sampled<Vec<StandingLane>>,
    storage: Sampled<Storage>,
    health: Sampled<Vec<Finding>>,
}

/// The figures, with what is quickly told as it is now.
#[derive(Debug)]
pub(crate) struct Told {
    /// Workers, holds and shards are of this moment.
    pub(crate) report: StatusReport,
    /// When the messages were counted; none if they never were, and nothing is to be believed yet.
    pub(crate) counted: Option<Counted<StatusReport>>,
}

/// How many issues are shown: who has more has one cause for many of them.
pub(crate) const ISSUES_SHOWN: usize = 50;
/// How many lanes of each kind are shown.
pub(crate) const LANES_SHOWN: usize = 100;

/// What the outbox is, for people.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The database's address, without its secrets.
    pub(crate) database: String,
    /// Where messages go.
    pub(crate) routes: Routes,
    /// How long ids are kept in the inbox; none for ever.
    pub(crate) inbox: Option<Duration>,
}

impl Site {
    pub(crate) fn new(desk: Arc<dyn JobDesk>, guard: Guard, about: About, metrics: Metrics) -> Self {
        let known = Known {
            pulse: Pulse::taken(Arc::clone(&desk)),
            beat: Sampled::default(),
            status: Sampled::default(),
            issues: Sampled::default(),
            outlook: Sampled::default(),
            lanes: Sampled::default(),
            storage: Sampled::default(),
            health: Sampled::default(),
        };
        Self {
            desk: Arc::new(Discreet::new(Arc::clone(&desk), about.routes.clone())),
            stored: desk,
            guard,
            about,
            metrics,
            known: Arc::new(known),
        }
    }

    /// The same outbox by another configuration, with all that is known of it.
    pub(crate) fn renewed(&self, guard: Guard, about: About, metrics: Metrics) -> Self {
        Self {
            desk: Arc::new(Discreet::new(Arc::clone(&self.stored), about.routes.clone())),
            stored: Arc::clone(&self.stored),
            guard,
            about,
            metrics,
            known: Arc::clone(&self.known),
        }
    }

    /// The desk that hides nothing: not for what is shown.
    pub(crate) const fn revealed(&self) -> &Arc<dyn JobDesk> {
        &self.stored
    }

    /// How it went in the last half hour.
    pub(crate) fn pulse(&self) -> &Pulse {
        &self.known.pulse
    }

    /// The figures, as fresh as they can be had without making anybody wait; none while they are counted for the first time.
    pub(crate) async fn status(&self) -> Result<Option<Counted<StatusReport>>, Problem> {
        let desk = Arc::clone(&self.desk);
        self.known
            .status
            .get(move || async move { desk.status().await })
            .await
    }

    /// The same with workers, holds and shards of this moment: whether anything is delivered at all must not be as old as the last count.
    pub(crate) async fn told(&self) -> Result<Told, Problem> {
        let beat = self.known.beat.get_since_change(|| {
            let desk = Arc::clone(&self.desk);
            async move { desk.pulse().await }
        });
        // First, so that what is told in a millisecond does not wait behind what takes long to count.
        let (beat, counted) = tokio::try_join!(beat, self.status())?;
        let figures = counted.as_ref().map(|counted| (*counted.value).clone());
        let figures = figures.unwrap_or_default();
        // Only a desk that has just been opened has not heard of anything yet: it makes nobody wait either.
        let Some(beat) = beat.map(|beat| beat.value) else {
            return Ok(Told {
                report: figures,
                counted: None,
            });
        };
        let report = StatusReport {
            now: beat.now,
            workers: beat.workers.clone(),
            holds: beat.holds.clone(),
            shards: beat.shards,
            shards_without_owner: beat.shards_without_owner,
            in_flight: beat.in_flight,
            ..figures
        };
        Ok(Told { report, counted })
    }

    /// Somebody changed something here.
    pub(crate) fn changed(&self) {
        self.known.beat.outdate();
        self.known.status.outdate();
        self.known.issues.outdate();
        self.known.lanes.outdate();
    }

    /// The figures for whoever waits for them: a program.
    pub(crate) async fn figures(&self) -> Result<Arc<StatusReport>, Problem> {
        match self.status().await? {
            Some(counted) if counted.is_exact() && self.known.status.is_true(&counted) => Ok(counted.value),
            _ => Ok(Arc::new(self.desk.status().await?)),
        }
    }

    /// The figures as they were last counted, for what need not be fresh; nobody waits for them.
    pub(crate) fn last_status(&self) -> Option<Counted<StatusReport>> {
        let desk = Arc::clone(&self.desk);
        self.known
            .status
            .glance(move || async move { desk.status().await })
    }

    /// What comes due within a day.
    /// What to know before these dead letters are redriven.
    pub(crate) async fn forgotten_warning(&self, filter: &Filter) -> Result<Option<String>, Problem> {
        let (desk, now) = (&*self.desk, Timestamp::wall());
        Ok(forgotten_warning(desk, filter, self.about.inbox, now).await?)
    }

    pub(crate) async fn outlook(&self) -> Result<Option<Counted<Outlook>>, Problem> {
        let desk = Arc::clone(&self.desk);
        self.known
            .outlook
            .get(move || async move { desk.outlook().await })
            .await
    }

    /// The lanes that stand or wait.
    pub(crate) async fn lanes(&self) -> Result<Option<Counted<Vec<StandingLane>>>, Problem> {
        let desk = Arc::clone(&self.desk);
        self.known
            .lanes
            .get(move || async move { desk.lanes(LANES_SHOWN).await })
            .await
    }

    /// How much room everything takes.
    pub(crate) async fn storage(&self) -> Result<Option<Counted<Storage>>, Problem> {
        let desk = Arc::clone(&self.desk);
        self.known
            .storage
            .get(move || async move { desk.storage().await })
            .await
    }

    /// What `redeliver doctor` finds in the database.
    pub(crate) async fn health(&self) -> Result<Option<Counted<Vec<Finding>>>, Problem> {
        let desk = Arc::clone(&self.desk);
        self.known
            .health
            .get(move || async move { desk.examine().await })
            .await
    }

    /// The issues with the most letters, and the last day of each.
    pub(crate) async fn issues(&self) -> Result<Option<Counted<Vec<IssueDetail>>>, Problem> {
        let desk = Arc::clone(&self.desk);
        self.known
            .issues
            .get(move || async move { issues(&*desk).await })
            .await
    }
}

async fn issues(desk: &dyn Desk) -> redeliver_outbox::store::Result<Vec<IssueDetail>> {
    let mut details = Vec::new();
    for issue in desk.issues(ISSUES_SHOWN).await? {
        // One that was put back meanwhile is not there any more.
        details.extend(desk.issue(issue.fingerprint).await?);
    }
    Ok(details)
}

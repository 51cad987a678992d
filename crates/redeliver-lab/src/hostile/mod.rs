//! Real relays on real databases, attacked from outside: hostile rows by raw SQL, table changes, maintenance, number resets, dump and
//! restore, crashes; then checkers over what was recorded.
//!
//! One seed is one short trial on each database. Nothing here is the product's code: rows are written and read with plain SQL, and
//! sent by the program `redeliver serve`.

mod action;
mod canary;
mod case;
mod checks;
mod configuration;
mod database;
mod destination;
mod options;
mod outage;
mod perform;
mod plan;
mod producer;
mod record;
mod report;
mod rows;
mod statements;
mod trial;

use std::sync::Arc;

use database::Host;
pub use options::Options;
use plan::Plan;
pub use report::{Broken, Failed, Figures, Report};
use tokio::{sync::Semaphore, task::JoinSet};
use trial::Trial;

use crate::crash::{
    CannotTorment,
    database::Kind,
    error::{Result, While as _},
    place::Place,
    report::progress,
};

/// Runs the trials that the options ask for.
///
/// # Errors
///
/// If something that is needed is missing or does not start: the relay's program, a database server, a free port.
pub async fn run(options: Options) -> std::result::Result<Report, CannotTorment> {
    let place = Arc::new(Place::make("hostile", &options.binary, options.keep)?);
    let mut campaigns = JoinSet::new();
    for kind in options.kinds() {
        let (place, options) = (Arc::clone(&place), options.clone());
        campaigns.spawn(async move { campaign(kind, place, options).await });
    }
    let mut report = Report::default();
    while let Some(ended) = campaigns.join_next().await {
        let part = ended.during("run the trials of a database")??;
        report.databases.extend(part.databases);
        report.failures.extend(part.failures);
    }
    report
        .failures
        .sort_by_key(|failed| (failed.database, failed.seed));
    if !report.is_clean() {
        report.kept = Some(place.keep());
    }
    Ok(report)
}

/// All trials of one kind of database, a few at a time.
async fn campaign(kind: Kind, place: Arc<Place>, options: Options) -> Result<Report> {
    let host = Arc::new(Host::start(kind, &place).await?);
    let slots = Arc::new(Semaphore::new(usize::from(options.jobs)));
    let mut trials = JoinSet::new();
    for seed in (options.first..).take(usize::try_from(options.seeds).unwrap_or(usize::MAX)) {
        let slot = Arc::clone(&slots)
            .acquire_owned()
            .await
            .during("wait for a turn")?;
        let plan = Plan::draw(kind, seed, &options);
        let (host, place) = (Arc::clone(&host), Arc::clone(&place));
        trials.spawn(async move {
            let ended = Trial::run(host, place, plan).await;
            drop(slot);
            progress(&match &ended {
                Ok(outcome) => outcome.summary(),
                Err(error) => format!("{} seed {seed}: FAILED: {error}", kind.as_str()),
            });
            (seed, ended)
        });
    }
    let mut report = Report::default();
    while let Some(ended) = trials.join_next().await {
        let (seed, ended) = ended.during("run a trial")?;
        let repeat = options.repeat(kind, seed);
        match ended {
            Ok(outcome) => report.add(&outcome, repeat),
            Err(error) => report.add_broken_off(kind, seed, repeat, &error),
        }
    }
    host.end().await;
    Ok(report)
}

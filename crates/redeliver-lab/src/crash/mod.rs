//! Real relay processes on real databases, killed, stopped, cut off and started again, while producers commit and roll back; then the
//! checkers of [`history`](crate::history) over everything that was recorded.
//!
//! Nothing here is the product's code: messages are inserted with plain SQL, sent by the program `redeliver serve`, received by a
//! server of our own, and looked up with plain SQL.

mod arena;
pub(crate) mod database;
mod destination;
pub(crate) mod error;
mod options;
pub(crate) mod place;
mod plan;
mod producer;
mod proxy;
mod record;
pub(crate) mod relay;
pub(crate) mod report;
pub(crate) mod stall;
mod torment;

use std::sync::Arc;

use arena::Arena;
pub use error::CannotTorment;
pub use options::{DatabaseChoice, Options};
use place::Place;
use plan::Plan;
pub use report::Report;
use tokio::task::JoinSet;

/// Torments relays as the options say, and tells what came of it.
///
/// # Errors
///
/// If something that is needed is missing or does not start: the relay's program, a database server, a free port.
pub async fn run(options: Options) -> Result<Report, CannotTorment> {
    let seed = options.seed.unwrap_or_else(redeliver::entropy::draw);
    let place = Arc::new(Place::make("crash", &options.binary, options.keep)?);
    let mut arenas = JoinSet::new();
    for plan in Plan::all(&options, seed) {
        let place = Arc::clone(&place);
        arenas.spawn(async move {
            let mut arena = Arena::set_up(&place, plan).await?;
            arena.torment().await?;
            arena.finish().await
        });
    }
    let mut report = Report::new(seed);
    while let Some(ended) = arenas.join_next().await {
        let ended = ended.map_err(|error| CannotTorment::new("an arena ended early", error))??;
        report.add(&ended);
    }
    if !report.is_clean() {
        report.kept = Some(place.keep());
    }
    Ok(report)
}

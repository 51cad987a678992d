use std::time::Duration;

use redeliver::clock;
use redeliver_outbox::{desk::Filter, state::Status};

use super::super::database::Outbox;

/// How soon it is looked again at first. Each look waits ten times as long as the last one took, so that looking is never the load.
const SOONEST: Duration = Duration::from_millis(50);

/// Ready when nothing is due or waiting. What stands still for an operator does not count.
pub(super) async fn empty(outbox: &Outbox) {
    let live = Filter {
        statuses: vec![Status::Pending, Status::Processing, Status::Failed],
        ..Filter::default()
    };
    loop {
        let start = clock::now();
        // A database in trouble is not empty; the relay tells of the trouble.
        if let Ok(0) = outbox.desk().count(&live).await {
            return;
        }
        let took = clock::now().since(start);
        clock::sleep(SOONEST.max(took.saturating_mul(10))).await;
    }
}

use std::{convert::Infallible, time::Duration};

use redeliver::clock;

use super::super::database::Outbox;

/// How often what is old is looked for.
const EVERY: Duration = Duration::from_secs(60);
/// Between two batches, so that the relay's own writes come in between.
const PAUSE: Duration = Duration::from_millis(200);

/// Forgets what is old, batch by batch, for as long as the relay runs.
pub(super) async fn forget(outbox: &Outbox) -> Infallible {
    let mut failing = false;
    loop {
        let more = match outbox.desk().retain(&outbox.settings.retention).await {
            Ok(removed) => {
                failing = false;
                if removed.rows > 0 {
                    tracing::debug!(target: "redeliver", rows = removed.rows, "forgot what was old");
                }
                removed.more
            }
            Err(error) => {
                // Told once: the relay tells of the same database.
                if !failing {
                    tracing::warn!(target: "redeliver", "cannot forget what is old: {error}");
                }
                failing = true;
                false
            }
        };
        clock::sleep(if more { PAUSE } else { EVERY }).await;
    }
}

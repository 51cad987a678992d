//! Watches whether the machine runs at all: where it does not for a good part of a lease, no relay can keep one.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use redeliver::{Moment, clock};

const TICK: Duration = Duration::from_millis(20);
/// A relay renews every third of its lease; what is left after a longer silence than this is not enough.
const DANGEROUS: Duration = Duration::from_millis(250);

/// Watches on a thread of its own for as long as the record is in use.
pub(crate) fn watch<R: Send + Sync + 'static>(record: &Arc<R>, stalled: fn(&R, Moment, Moment)) {
    let record: Weak<R> = Arc::downgrade(record);
    std::thread::spawn(move || {
        let mut last = clock::now();
        loop {
            clock::block(TICK);
            let now = clock::now();
            let Some(record) = record.upgrade() else { return };
            if now.since(last) > DANGEROUS {
                stalled(&record, last, now);
            }
            last = now;
        }
    });
}

//! Where the search for what is old goes on, in tables that have no index by time.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::limits::RETENTION_BATCH;

/// The tables that are looked through by number.
#[derive(Debug, Default)]
pub(in crate::store) struct Sweeps {
    pub(in crate::store) sent: Sweep,
    pub(in crate::store) events: Sweep,
}

/// How far one of them was looked through. What was put back and arrived late has a low number and a late time: however much of it there is,
/// the old ones behind it are found. Not kept in the database: whoever begins anew, begins at the beginning.
#[derive(Debug, Default)]
pub(in crate::store) struct Sweep(AtomicI64);

impl Sweep {
    /// The number that the next window begins behind.
    pub(in crate::store) fn after(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes that so many were removed from a window, which ends with this number if there may be old ones behind it, and says whether
    /// there may be more.
    pub(in crate::store) fn looked(&self, removed: usize, end: Option<i64>) -> bool {
        let full = removed >= RETENTION_BATCH;
        if !full {
            self.0.store(end.unwrap_or(0), Ordering::Relaxed);
        }
        full || end.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_where_much_is_old_and_begins_again_after_the_end() {
        let sweep = Sweep::default();
        assert!(sweep.looked(RETENTION_BATCH, Some(70)));
        assert_eq!(sweep.after(), 0, "the rest of the window is looked at again");
        assert!(sweep.looked(RETENTION_BATCH - 1, Some(70)));
        assert_eq!(sweep.after(), 70);
        assert!(sweep.looked(RETENTION_BATCH, None));
        assert_eq!(sweep.after(), 70);
        assert!(!sweep.looked(3, None));
        assert_eq!(sweep.after(), 0);
    }
}

//! When the audit trail is told how far an import is.

use redeliver::Moment;
use redeliver_outbox::{import::Tally, limits};

/// What the audit trail was told last, and when; nothing yet.
#[derive(Debug, Default)]
pub(super) struct Recorded(Option<(Moment, Tally)>);

impl Recorded {
    /// Whether it is time for an entry: behind the first rows that were inserted, and then from time to time, less often while nothing
    /// comes. A run that is killed has not gone far behind its last entry, nor was that long ago: so it is known where to go on.
    pub(super) fn is_due(&self, now: Moment, tally: Tally) -> bool {
        match self.0 {
            None => tally.inserted > 0,
            Some((at, told)) => {
                let wait = match told == tally {
                    true => limits::IMPORT_IDLE_RECORD_EVERY,
                    false => limits::IMPORT_RECORD_EVERY,
                };
                now.since(at) >= wait
            }
        }
    }

    pub(super) const fn note(&mut self, now: Moment, tally: Tally) {
        self.0 = Some((now, tally));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_recorded_behind_its_first_rows_and_then_from_time_to_time() {
        let tally = |inserted| Tally {
            read: inserted,
            inserted,
            ..Tally::default()
        };
        let minute = |minute: u64| Moment::from_millis(minute * 60_000);
        let mut recorded = Recorded::default();
        assert!(!recorded.is_due(minute(0), tally(0)));
        assert!(recorded.is_due(minute(0), tally(500)));
        recorded.note(minute(0), tally(500));
        for (at, inserted, due) in [
            (1, 1000, false),
            (59, 90_000, false),
            (60, 90_000, true),
            // What comes after a silence is recorded at once.
            (600, 501, true),
            (1439, 500, false),
            (1440, 500, true),
        ] {
            assert_eq!(
                recorded.is_due(minute(at), tally(inserted)),
                due,
                "{at} {inserted}"
            );
        }
    }
}

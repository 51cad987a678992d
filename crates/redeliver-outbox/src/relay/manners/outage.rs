use std::time::Duration;

use redeliver::Moment;

/// Notices at any volume that a destination is down: it fails for some seconds, a few times in a row, with no success in between.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outage {
    failing: Option<Failing>,
    /// It has taken or rejected a message since this relay started.
    answered: bool,
}

/// Failures since the last success.
#[derive(Clone, Copy, Debug)]
struct Failing {
    count: u32,
    since: Moment,
}

/// What is known of the message of an attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::relay) struct Tried {
    /// Its failed attempts before this one, by whichever relay.
    pub earlier: u32,
    /// How long it waited since the last of them.
    pub waited: Duration,
    /// Its policy allows no attempt after this one.
    pub last: bool,
}

/// A failed attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub tried: Tried,
    /// No connection: the message has no part in it.
    pub unreachable: bool,
    /// Attempts still on their way, any of which may succeed.
    pub in_flight: usize,
}

const FEWEST: u32 = 3;
const SHORTEST: Duration = Duration::from_secs(5);

impl Outage {
    pub(super) const fn answered(&mut self) {
        self.failing = None;
        self.answered = true;
    }

    /// Returns whether the destination counts as down.
    pub(super) fn failed(&mut self, failure: Failure, now: Moment) -> bool {
        let Failure {
            tried, unreachable, ..
        } = failure;
        let failing = self.failing.get_or_insert(Failing { count: 0, since: now });
        failing.count = failing.count.saturating_add(1);
        let (mut count, mut lasted) = (failing.count, now.since(failing.since));
        // A relay that has just started knows of earlier failures only what its messages say.
        if !self.answered && tried.earlier > 0 && (unreachable || tried.last) {
            count = count.max(tried.earlier.saturating_add(1));
            lasted = lasted.max(tried.waited);
        }
        // Failures with an answer may be the messages' own: they must outnumber what may still succeed.
        let fewest = match unreachable {
            true => FEWEST,
            false => FEWEST.saturating_add(u32::try_from(failure.in_flight).unwrap_or(u32::MAX)),
        };
        // The last attempt of a message never ends at a closed door.
        (count >= fewest && lasted >= SHORTEST) || (unreachable && tried.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(secs: u64) -> Moment {
        Moment::from_millis(secs * 1_000)
    }

    const ANSWERED: Failure = Failure {
        tried: Tried {
            earlier: 0,
            waited: Duration::ZERO,
            last: false,
        },
        unreachable: false,
        in_flight: 0,
    };

    const fn unreachable(failure: Failure) -> Failure {
        Failure {
            unreachable: true,
            ..failure
        }
    }

    const fn last_of(attempts: u32, waited: u64, failure: Failure) -> Failure {
        let tried = Tried {
            earlier: attempts - 1,
            waited: Duration::from_secs(waited),
            last: true,
        };
        Failure { tried, ..failure }
    }

    #[test]
    fn three_failures_in_a_row_over_five_seconds_are_an_outage() {
        for failure in [ANSWERED, unreachable(ANSWERED)] {
            let mut outage = Outage::default();
            assert!(!outage.failed(failure, at(0)));
            assert!(!outage.failed(failure, at(20)), "two are not enough");
            assert!(outage.failed(failure, at(21)));
            outage.answered();
            assert!((30..35).all(|second| !outage.failed(failure, at(second))));
            assert!(outage.failed(failure, at(35)));
        }
    }

    #[test]
    fn failures_do_not_outweigh_what_is_still_on_its_way() {
        let busy = Failure {
            in_flight: 10,
            ..ANSWERED
        };
        let mut outage = Outage::default();
        let first = (0..60).find(|&second| outage.failed(busy, at(second)));
        assert_eq!(first, Some(12), "thirteen failures, ten on their way");
        let mut outage = Outage::default();
        let first = (0..60).find(|&second| outage.failed(unreachable(busy), at(second)));
        assert_eq!(first, Some(5));
    }

    #[test]
    fn a_closed_door_ends_no_message() {
        let mut outage = Outage::default();
        outage.answered();
        assert!(outage.failed(unreachable(last_of(1, 0, ANSWERED)), at(0)));
        assert!(
            !Outage::default().failed(last_of(3, 2, ANSWERED), at(0)),
            "a policy of a few seconds is decided by its attempts"
        );
    }

    #[test]
    fn a_relay_that_has_just_started_believes_what_a_message_says() {
        let last = last_of(5, 8, ANSWERED);
        assert!(Outage::default().failed(last, at(0)));
        let mut outage = Outage::default();
        outage.answered();
        assert!(!outage.failed(last, at(0)), "it has seen more than the message");
    }
}

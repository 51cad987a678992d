use std::time::Duration;

use redeliver::{Class, Classify as _, Decision, Moment, Policy, Session};

use crate::store::{StoreError, StoreErrorKind};

/// What a relay asks of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Beat,
    Claim,
    Release,
    Read,
    Settle,
    Unpark,
    Hold,
}

impl Statement {
    pub(super) const ALL: [Self; 7] = [
        Self::Beat,
        Self::Claim,
        Self::Release,
        Self::Read,
        Self::Settle,
        Self::Unpark,
        Self::Hold,
    ];

    /// The word in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Beat => "beat",
            Self::Claim => "claim",
            Self::Release => "release",
            Self::Read => "read",
            Self::Settle => "settle",
            Self::Unpark => "unpark",
            Self::Hold => "hold",
        }
    }

    /// What cannot be done when it fails.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Beat => "renew the lease",
            Self::Claim => "claim shards",
            Self::Release => "release shards",
            Self::Read => "read messages",
            Self::Settle => "write verdicts",
            Self::Unpark => "bring back what was put away",
            Self::Hold => "hold a destination",
        }
    }
}

/// Trouble with the database: when to ask again, and whether it has been said.
///
/// Every kind of statement has its own: a read that works says nothing of a write.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    failed: u32,
    previous_wait: Duration,
    unreachable: bool,
    pub(super) until: Option<Moment>,
}

impl Trouble {
    /// It failed; it is tried again at the returned time. The first failure is told, and then every tenth.
    pub(super) fn failed(
        &mut self,
        what: Statement,
        error: &StoreError,
        policy: &Policy,
        now: Moment,
        entropy: u64,
    ) {
        // The relay gives a database up as little as it gives a message up: what looks permanent is asked again at the longest wait.
        let wait = match self.next_wait(policy, now, entropy) {
            Some(wait) if error.class() == Class::Transient => wait,
            _ => policy.max_delay,
        };
        if self.failed.is_multiple_of(10) {
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(target: "redeliver", failures = self.failed + 1, wait_ms, "cannot {}: {error}", what.words());
        }
        self.failed = self.failed.saturating_add(1);
        self.previous_wait = wait;
        self.unreachable = error.kind() == StoreErrorKind::Unreachable;
        self.until = Some(now.plus(wait));
    }

    /// It failed, for a reason that somebody else tells.
    pub(super) fn put_off(&mut self, policy: &Policy, now: Moment, entropy: u64) {
        let wait = self.next_wait(policy, now, entropy).unwrap_or(policy.max_delay);
        self.failed = self.failed.saturating_add(1);
        self.previous_wait = wait;
        self.until = Some(now.plus(wait));
    }

    fn next_wait(&self, policy: &Policy, now: Moment, entropy: u64) -> Option<Duration> {
        let mut session = Session::new(policy, now)
            .resumed(self.failed, self.previous_wait)
            .idempotent(true);
        match session.on_failure(now, Class::Transient, entropy) {
            Decision::Retry { after, .. } => Some(after),
            Decision::Stop(_) => None,
        }
    }

    pub(super) fn worked(&mut self, what: Statement) {
        if self.failed > 0 {
            tracing::info!(target: "redeliver", failures = self.failed, "can {} again", what.words());
        }
        *self = Self::default();
    }

    /// The database has answered somebody else: who only waits for that need not wait any longer.
    pub(super) fn answered(&mut self, now: Moment) {
        if self.unreachable {
            self.until = self.until.map(|until| until.min(now));
        }
    }

    /// Whether the wait is over.
    pub(super) fn allows(&self, now: Moment) -> bool {
        self.until.is_none_or(|until| now >= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_waits_for_an_answer_is_woken_by_one() {
        let policy = Policy::exponential(Duration::from_secs(1), Duration::from_secs(5));
        let now = Moment::ZERO.plus(Duration::from_secs(100));
        for (kind, woken) in [
            (StoreErrorKind::Unreachable, true),
            (StoreErrorKind::ReadOnly, false),
        ] {
            let mut trouble = Trouble::default();
            let error = StoreError::new(kind, "gone");
            trouble.failed(Statement::Settle, &error, &policy, now, u64::MAX);
            assert!(!trouble.allows(now), "{kind:?}");
            trouble.answered(now);
            assert_eq!(trouble.allows(now), woken, "{kind:?}");
            assert_eq!(trouble.failed, 1, "it has not worked yet");
        }
    }
}

use core::time::Duration;

use crate::{
    Backoff, Policy,
    backoff::Powers,
    jitter::{Bounds, Spread, decorrelated},
    moment::nanos,
};

/// The waits of a policy in turn, for a schedule of your own. A [`Session`](crate::Session) draws from the same, and decides whether to wait
/// at all.
///
/// ```
/// use core::time::Duration;
/// use redeliver_policy::{Jitter, Policy};
///
/// let policy = Policy::exponential(Duration::from_secs(1), Duration::from_secs(3)).jitter(Jitter::None);
/// let mut waits = policy.waits();
/// assert_eq!([waits.draw(7), waits.draw(7), waits.draw(7)].map(|wait| wait.as_secs()), [1, 2, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct Waits<'a> {
    backoff: &'a Backoff,
    /// None for decorrelated jitter.
    spread: Option<Spread>,
    // Converted once, instead of at each wait.
    powers: Powers,
    base: u64,
    cap: u64,
    retry: u32,
    previous: u64,
}

impl<'a> Waits<'a> {
    /// The waits from retry number `retry` (from zero) on, the one before having been `previous` nanoseconds long.
    #[inline]
    pub(crate) fn from(policy: &'a Policy, retry: u32, previous: u64) -> Self {
        let (base, cap) = (nanos(policy.backoff.base()), nanos(policy.max_delay));
        Self {
            backoff: &policy.backoff,
            spread: policy.jitter.spread(),
            powers: policy.backoff.powers(),
            base,
            cap,
            retry,
            previous,
        }
    }

    /// The next wait, drawn with 64 random bits.
    #[inline]
    pub fn draw(&mut self, entropy: u64) -> Duration {
        self.previous = self.bounds().draw(entropy);
        self.retry = self.retry.saturating_add(1);
        Duration::from_nanos(self.previous)
    }

    /// The bounds of the next wait.
    #[inline]
    pub(crate) fn bounds(&self) -> Bounds {
        match self.spread {
            Some(spread) => spread.around(self.backoff.grown(&self.powers, self.base, self.retry, self.cap)),
            None => decorrelated(self.base, self.previous, self.cap),
        }
    }
}

impl Policy {
    /// Its waits in turn, from the first.
    #[inline]
    #[must_use]
    pub fn waits(&self) -> Waits<'_> {
        Waits::from(self, 0, 0)
    }

    /// One wait: before retry number `retry` (from zero), after a wait of `previous`, drawn with `entropy`.
    ///
    /// Only [`Jitter::Decorrelated`](crate::Jitter::Decorrelated) looks at `previous`; give it zero before the first.
    #[inline]
    #[must_use]
    pub fn wait(&self, retry: u32, previous: Duration, entropy: u64) -> Duration {
        Waits::from(self, retry, nanos(previous)).draw(entropy)
    }

    /// The shortest and the longest wait that can come before retry number `retry` (from zero).
    #[must_use]
    pub fn bounds(&self, retry: u32) -> (Duration, Duration) {
        let Bounds { low, high } = Waits::from(self, retry, self.longest_previous(retry)).bounds();
        (Duration::from_nanos(low), Duration::from_nanos(high))
    }

    /// The longest wait that decorrelated jitter can have drawn before retry number `retry`; integers, so that
    /// [`bounds`](Policy::bounds) are reached exactly.
    pub(crate) fn longest_previous(&self, retry: u32) -> u64 {
        nanos(self.backoff.base())
            .saturating_mul(3u64.saturating_pow(retry))
            .min(nanos(self.max_delay))
    }
}

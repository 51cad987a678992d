use core::time::Duration;

use crate::{Backoff, Jitter, WaitList, jitter::Bounds, moment::nanos};

/// How a failing operation is repeated: plain data, made in a `const`, read from a file, or taken from a preset.
///
/// ```
/// use core::time::Duration;
/// use redeliver_policy::{Jitter, Policy};
///
/// const PAYMENTS: Policy = Policy::exponential(Duration::from_millis(200), Duration::from_secs(3))
///     .jitter(Jitter::Full)
///     .max_attempts(5)
///     .attempt_timeout(Duration::from_millis(1200))
///     .deadline(Duration::from_secs(8));
/// assert_eq!(PAYMENTS.validate(), Ok(()));
/// ```
///
/// Nothing here panics: a policy that [`validate`](Policy::validate) refuses still behaves, by its nearest sensible reading.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Policy {
    /// How the wait grows.
    pub backoff: Backoff,
    /// The cap on the backoff: `max` in configuration.
    pub max_delay: Duration,
    /// How the wait is spread.
    pub jitter: Jitter,
    /// Attempts in all, the first included; `None` for no limit.
    pub max_attempts: Option<u32>,
    /// Time for the whole call, waits included.
    pub deadline: Option<Duration>,
    /// Time for each attempt, cut to what is left of the deadline.
    pub attempt_timeout: Option<Duration>,
    /// The longest `Retry-After` that is obeyed; a longer one ends the call.
    pub retry_after_max: Duration,
    /// Whether a failure that may have executed may be repeated.
    pub idempotent: bool,
}

/// A `Retry-After` longer than this ends the call unless the policy says otherwise.
pub const DEFAULT_RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
/// Attempts, the first included, unless the policy says otherwise.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 5;

/// The share of a server's `Retry-After` over which clients are spread after it.
const RETRY_AFTER_SPREAD: u64 = 10;

impl Policy {
    /// A policy of this shape, no wait longer than `max_delay`, with full jitter and five attempts.
    #[must_use]
    pub const fn new(backoff: Backoff, max_delay: Duration) -> Self {
        Self {
            backoff,
            max_delay,
            jitter: Jitter::Full,
            max_attempts: Some(DEFAULT_MAX_ATTEMPTS),
            deadline: None,
            attempt_timeout: None,
            retry_after_max: DEFAULT_RETRY_AFTER_MAX,
            idempotent: true,
        }
    }

    /// Doubling from `base` up to `max_delay`.
    #[must_use]
    pub const fn exponential(base: Duration, max_delay: Duration) -> Self {
        Self::new(
            Backoff::Exponential {
                base,
                multiplier: 2.0,
            },
            max_delay,
        )
    }

    /// The same wait every time.
    #[must_use]
    pub const fn fixed(base: Duration) -> Self {
        Self::new(Backoff::Fixed { base }, base)
    }

    /// `base`, twice, three times `base`, … up to `max_delay`.
    #[must_use]
    pub const fn linear(base: Duration, max_delay: Duration) -> Self {
        Self::new(Backoff::Linear { base, step: base }, max_delay)
    }

    /// `base` times 1, 1, 2, 3, 5, … up to `max_delay`.
    #[must_use]
    pub const fn fibonacci(base: Duration, max_delay: Duration) -> Self {
        Self::new(Backoff::Fibonacci { base }, max_delay)
    }

    /// The waits as listed, the last one repeated; the longest of them is the cap.
    #[must_use]
    pub const fn list(waits: &[Duration]) -> Self {
        let mut longest = Duration::ZERO;
        let mut index = 0;
        while index < waits.len() {
            if nanos(waits[index]) > nanos(longest) {
                longest = waits[index];
            }
            index += 1;
        }
        Self::new(Backoff::List(WaitList::new(waits)), longest)
    }

    /// The factor from wait to wait. It makes the backoff exponential if it was not.
    #[must_use]
    pub const fn multiplier(mut self, multiplier: f64) -> Self {
        let base = match self.backoff {
            Backoff::Fixed { base }
            | Backoff::Linear { base, .. }
            | Backoff::Exponential { base, .. }
            | Backoff::Fibonacci { base } => base,
            Backoff::List(_) => return self,
        };
        self.backoff = Backoff::Exponential { base, multiplier };
        self
    }

    /// How the wait is spread.
    #[must_use]
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Attempts in all, the first included.
    #[must_use]
    pub const fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = Some(attempts);
        self
    }

    /// No limit on attempts. Give such a call a deadline, or a way to be cancelled.
    #[must_use]
    pub const fn unlimited_attempts(mut self) -> Self {
        self.max_attempts = None;
        self
    }

    /// Time for the whole call. A wait that would end past it is not waited.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Time for each attempt; never more than is left of the deadline.
    #[must_use]
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = Some(timeout);
        self
    }

    /// The longest `Retry-After` that is obeyed. A longer one ends the call: waiting less than asked is never the answer.
    #[must_use]
    pub const fn retry_after_max(mut self, longest: Duration) -> Self {
        self.retry_after_max = longest;
        self
    }

    /// Whether a failure that may have executed may be repeated. Yes by default: who wraps a closure in retries says so.
    /// HTTP requests decide by their method and their `Idempotency-Key`.
    #[must_use]
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// One wait: before retry number `retry` (from zero), after a wait of `previous`, drawn with `entropy`.
    ///
    /// Only [`Jitter::Decorrelated`] looks at `previous`; give it zero before the first.
    #[inline]
    #[must_use]
    pub fn wait(&self, retry: u32, previous: Duration, entropy: u64) -> Duration {
        let previous = match self.jitter {
            Jitter::Decorrelated => nanos(previous),
            _ => 0,
        };
        Duration::from_nanos(self.bounds_nanos(retry, previous).draw(entropy))
    }

    /// The shortest and the longest wait that can come before retry number `retry` (from zero).
    #[must_use]
    pub fn bounds(&self, retry: u32) -> (Duration, Duration) {
        let cap = nanos(self.max_delay);
        let base = nanos(self.backoff.base());
        let longest_previous = Backoff::Exponential {
            base: Duration::from_nanos(base),
            multiplier: 3.0,
        }
        .wait_nanos(retry, cap);
        let Bounds { low, high } = self.bounds_nanos(retry, longest_previous);
        (Duration::from_nanos(low), Duration::from_nanos(high))
    }

    #[inline]
    pub(crate) fn bounds_nanos(&self, retry: u32, previous: u64) -> Bounds {
        let cap = nanos(self.max_delay);
        // The shape and the previous wait are each other's alternative: what is not asked for is not computed.
        match self.jitter {
            Jitter::Decorrelated => Jitter::decorrelated(nanos(self.backoff.base()), previous, cap),
            jitter => jitter.bounds(self.backoff.wait_nanos(retry, cap)),
        }
    }

    /// The wait that obeys a server's hint: never shorter, and spread after it so that all who were told the same do not come back at
    /// the same moment.
    pub(crate) fn hinted_wait(&self, hint: Duration, entropy: u64) -> Duration {
        if self.jitter == Jitter::None {
            return hint;
        }
        let hint = nanos(hint);
        let spread = (hint / RETRY_AFTER_SPREAD)
            .max(nanos(self.backoff.base()))
            .min(nanos(self.max_delay));
        let bounds = Bounds {
            low: hint,
            high: hint.saturating_add(spread),
        };
        Duration::from_nanos(bounds.draw(entropy))
    }
}

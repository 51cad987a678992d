use std::time::Duration;

use redeliver::{BreakerRule, BudgetRule};

/// How a destination is treated when it is slow, throttles, is down or refuses everything.
///
/// ```
/// use redeliver_outbox::destination::{Log, Manners, Route};
/// use std::time::Duration;
///
/// let manners = Manners::default().rate(2.5).longest_rest(Duration::from_secs(600));
/// let route = Route { manners, ..Route::to(Log) };
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Manners {
    /// The fewest attempts that run at a time, however slow it is. The most is the route's `concurrency`.
    pub floor: usize,
    /// The most attempts that begin in a second.
    pub rate: Option<f64>,
    /// The retries that may be added to the first attempts.
    pub budget: BudgetRule,
    /// When it counts as down, and for how long before it is tried with one message. As many attempts in a row as it takes for the share to
    /// mean anything are an outage too, if none of them was refused for the load. At any volume, so are 3 failures in a row over 5 seconds.
    pub breaker: BreakerRule,
    /// How long after an outage until it gets all that it takes. Meanwhile at most twice as much as before.
    pub ramp: Duration,
    /// The longest rest that it may ask for with `Retry-After`; each message's own policy has a limit of its own.
    pub longest_rest: Duration,
    /// When it rejects so much, and all in the same way, that it is paused until somebody has looked; none never pauses it.
    pub surge: Option<SurgeRule>,
}

/// How many rejections of one kind are a surge: not the messages are wrong then, but a key, a schema or an address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurgeRule {
    /// Of so many attempts, the last ones that were delivered or rejected.
    pub of: usize,
    /// This share was rejected in the same way.
    pub share: f64,
}

impl SurgeRule {
    /// Four fifths of the last fifty.
    pub const DEFAULT: Self = Self { of: 50, share: 0.8 };
}

impl Manners {
    /// The fewest attempts that run at a time.
    #[must_use]
    pub const fn floor(mut self, attempts: usize) -> Self {
        self.floor = attempts;
        self
    }

    /// The most attempts that begin in a second: more than 0, and it may be a fraction.
    #[must_use]
    pub const fn rate(mut self, per_second: f64) -> Self {
        self.rate = Some(per_second);
        self
    }

    /// The retries that may be added to the first attempts. Without a floor, a message that fails when no other comes is never retried.
    #[must_use]
    pub const fn budget(mut self, rule: BudgetRule) -> Self {
        self.budget = rule;
        self
    }

    /// When it counts as down.
    #[must_use]
    pub const fn breaker(mut self, rule: BreakerRule) -> Self {
        self.breaker = rule;
        self
    }

    /// It never counts as down, however often it fails.
    #[must_use]
    pub const fn without_breaker(mut self) -> Self {
        // No window ever holds so many.
        self.breaker.minimum_calls = u32::MAX;
        self
    }

    /// How long after an outage until it gets all that it takes.
    #[must_use]
    pub const fn ramp(mut self, ramp: Duration) -> Self {
        self.ramp = ramp;
        self
    }

    /// The longest rest that it may ask for.
    #[must_use]
    pub const fn longest_rest(mut self, rest: Duration) -> Self {
        self.longest_rest = rest;
        self
    }

    /// When it is paused because it rejects nearly everything; none for never.
    #[must_use]
    pub const fn surge(mut self, rule: Option<SurgeRule>) -> Self {
        self.surge = rule;
        self
    }
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            floor: 1,
            rate: None,
            // Three in ten that fail, and are tried again until they arrive, are not held up, even where all first attempts come first.
            budget: BudgetRule::ratio(0.5).burst(1_000).floor_per_second(20),
            breaker: BreakerRule::DEFAULT
                .failure_rate(0.8)
                .minimum_calls(20)
                .open_for(Duration::from_secs(30)),
            ramp: Duration::from_secs(60),
            longest_rest: Duration::from_secs(3600),
            surge: Some(SurgeRule::DEFAULT),
        }
    }
}

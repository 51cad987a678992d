use core::time::Duration;

/// When a breaker opens and how it closes again.
///
/// ```
/// use core::time::Duration;
/// use redeliver_policy::BreakerRule;
///
/// const RULE: BreakerRule = BreakerRule::DEFAULT.open_for(Duration::from_secs(2)).slow_start(Duration::from_secs(20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BreakerRule {
    /// The share of failed calls, 0 to 1, at which it opens.
    pub failure_rate: f64,
    /// The calls that the window must hold before the rate means anything.
    pub minimum_calls: u32,
    /// How far back calls are counted.
    pub window: Duration,
    /// How long it stays open before it lets a probe through.
    pub open_for: Duration,
    /// The probes that must succeed, one after the other or side by side, before it closes.
    pub probes: u32,
    /// After closing, the time over which the admitted share of calls grows from a tenth to all; zero for all at once.
    pub slow_start: Duration,
}

impl BreakerRule {
    /// Half of at least ten calls in ten seconds fail: open for five seconds, one probe, no slow start.
    pub const DEFAULT: Self = Self {
        failure_rate: 0.5,
        minimum_calls: 10,
        window: Duration::from_secs(10),
        open_for: Duration::from_secs(5),
        probes: 1,
        slow_start: Duration::ZERO,
    };

    /// The share of failed calls, 0 to 1, at which it opens.
    #[must_use]
    pub const fn failure_rate(mut self, rate: f64) -> Self {
        self.failure_rate = rate;
        self
    }

    /// The calls that the window must hold before the rate means anything.
    #[must_use]
    pub const fn minimum_calls(mut self, calls: u32) -> Self {
        self.minimum_calls = calls;
        self
    }

    /// How far back calls are counted.
    #[must_use]
    pub const fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// How long it stays open before it lets a probe through.
    #[must_use]
    pub const fn open_for(mut self, open_for: Duration) -> Self {
        self.open_for = open_for;
        self
    }

    /// The probes that must succeed before it closes; at least one.
    #[must_use]
    pub const fn probes(mut self, probes: u32) -> Self {
        self.probes = probes;
        self
    }

    /// The time over which the admitted share grows from a tenth to all after closing.
    #[must_use]
    pub const fn slow_start(mut self, slow_start: Duration) -> Self {
        self.slow_start = slow_start;
        self
    }
}

impl Default for BreakerRule {
    fn default() -> Self {
        Self::DEFAULT
    }
}

use redeliver::Moment;

/// A bucket of sends that fills by the second and holds a fifth of a second's worth, one at least.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    tokens: f64,
    at: Moment,
}

impl Rate {
    pub(super) const fn new() -> Self {
        Self {
            tokens: 1.0,
            at: Moment::ZERO,
        }
    }

    fn filled(&self, per_second: f64, now: Moment) -> f64 {
        let gained = now.since(self.at).as_secs_f64() * per_second;
        (self.tokens + gained).min((per_second / 5.0).max(1.0))
    }

    /// How many may go now.
    pub(super) fn available(&self, per_second: f64, now: Moment) -> usize {
        self.filled(per_second, now) as usize
    }

    pub(super) fn take(&mut self, per_second: f64, now: Moment) {
        self.tokens = self.filled(per_second, now) - 1.0;
        self.at = self.at.max(now);
    }

    /// When the next one may go.
    pub(super) fn next(&self, per_second: f64, now: Moment) -> Moment {
        let missing = (1.0 - self.filled(per_second, now)).max(0.0);
        let wait = missing / per_second.max(f64::MIN_POSITIVE);
        now.plus(std::time::Duration::try_from_secs_f64(wait).unwrap_or(std::time::Duration::MAX))
    }
}

/// How many a second arrive, as of late: what came longer ago counts less.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    count: f64,
    at: Moment,
}

/// Over about so many seconds.
const MEMORY: f64 = 30.0;

impl Flow {
    pub(super) fn count(&mut self, now: Moment) {
        self.count = self.faded(now) + 1.0;
        self.at = self.at.max(now);
    }

    pub(super) fn per_second(&self, now: Moment) -> f64 {
        self.faded(now) / MEMORY
    }

    fn faded(&self, now: Moment) -> f64 {
        self.count * (-now.since(self.at).as_secs_f64() / MEMORY).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_go_than_the_rate_allows() {
        let mut rate = Rate::new();
        let mut sent = 0;
        let mut now = Moment::from_millis(1_000);
        let end = Moment::from_millis(11_000);
        while now < end {
            for _ in 0..rate.available(50.0, now) {
                rate.take(50.0, now);
                sent += 1;
            }
            let next = rate.next(50.0, now);
            assert!(next > now, "it is worth waiting for");
            now = next;
        }
        assert!(
            (495..=511).contains(&sent),
            "{sent} in ten seconds at 50 a second"
        );
    }

    #[test]
    fn a_flow_is_what_arrives_a_second() {
        let mut flow = Flow::default();
        for tick in 0..20_000 {
            flow.count(Moment::from_millis(tick * 10));
        }
        let now = Moment::from_millis(200_000);
        let rate = flow.per_second(now);
        assert!((95.0..105.0).contains(&rate), "{rate}");
        assert!(flow.per_second(now.plus(std::time::Duration::from_secs(300))) < 0.1);
    }
}

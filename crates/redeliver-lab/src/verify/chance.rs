use std::time::Duration;

/// Chance that one seed decides: each part of a history draws from its own, so that one more draw here changes nothing there.
#[derive(Clone, Debug)]
pub(super) struct Chance(fastrand::Rng);

impl Chance {
    pub(super) fn new(seed: u64, part: &str) -> Self {
        // FNV-1a over the name, then the finalizer of SplitMix64: neighbouring seeds must not look alike.
        let mut mixed = part.bytes().fold(0xcbf2_9ce4_8422_2325_u64 ^ seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(fastrand::Rng::with_seed(mixed ^ (mixed >> 31)))
    }

    /// Whether something of this likelihood happens.
    pub(super) fn happens(&mut self, likelihood: f64) -> bool {
        likelihood > 0.0 && self.0.f64() < likelihood
    }

    /// From `low` to `high`, both among them.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.u64(low..=high.max(low))
    }

    pub(super) fn count(&mut self, low: usize, high: usize) -> usize {
        self.0.usize(low..=high.max(low))
    }

    pub(super) fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0.u64(..)
    }

    pub(super) fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        self.0.choice(choices)
    }

    /// A likelihood that is usually nothing, and otherwise between the two.
    pub(super) fn sometimes(&mut self, share: f64, low: f64, high: f64) -> f64 {
        if self.happens(share) {
            low + (high - low) * self.0.f64()
        } else {
            0.0
        }
    }
}

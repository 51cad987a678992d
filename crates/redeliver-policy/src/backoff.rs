use core::time::Duration;

use crate::moment::nanos;

/// The most waits that [`Backoff::List`] holds; the last one repeats.
pub const MAX_LISTED_WAITS: usize = 32;

/// How the wait grows from retry to retry, before the cap and the jitter.
///
/// Retries are counted from zero, and the first wait is the base delay.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a policy stays plain `Copy` data, and sessions borrow it"
)]
#[non_exhaustive]
pub enum Backoff {
    /// The same wait every time.
    Fixed {
        /// Every wait.
        base: Duration,
    },
    /// `base`, `base + step`, `base + 2·step`, …
    Linear {
        /// The first wait.
        base: Duration,
        /// What each further wait adds.
        step: Duration,
    },
    /// `base`, `base·multiplier`, `base·multiplier²`, …
    Exponential {
        /// The first wait.
        base: Duration,
        /// What each further wait is multiplied by; at least 1.
        multiplier: f64,
    },
    /// `base` times 1, 1, 2, 3, 5, 8, …
    Fibonacci {
        /// The first wait.
        base: Duration,
    },
    /// The waits as listed; the last one repeats.
    List(WaitList),
}

/// An explicit list of waits, held inline so that a policy stays plain, copyable data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WaitList {
    nanos: [u64; MAX_LISTED_WAITS],
    len: usize,
    /// How many were given, of which `len` are kept, so that a list cut short can be told.
    given: usize,
}

impl WaitList {
    /// The first [`MAX_LISTED_WAITS`] of `waits`; `Policy::validate` refuses an empty list and one that was longer.
    #[must_use]
    pub const fn new(waits: &[Duration]) -> Self {
        let mut list = Self {
            nanos: [0; MAX_LISTED_WAITS],
            len: 0,
            given: waits.len(),
        };
        while list.len < waits.len() && list.len < MAX_LISTED_WAITS {
            list.nanos[list.len] = nanos(waits[list.len]);
            list.len += 1;
        }
        list
    }

    /// The waits in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Duration> + '_ {
        self.nanos[..self.len]
            .iter()
            .map(|&nanos| Duration::from_nanos(nanos))
    }

    /// How many waits are listed.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is listed, which no valid policy is.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn given(&self) -> usize {
        self.given
    }

    fn at(&self, retry: u32) -> u64 {
        let last = self.len.saturating_sub(1);
        self.nanos[(retry as usize).min(last)]
    }
}

impl core::fmt::Debug for WaitList {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Backoff {
    /// The wait before retry number `retry` (from zero), no longer than `cap`, without jitter.
    #[must_use]
    pub fn wait(&self, retry: u32, cap: Duration) -> Duration {
        Duration::from_nanos(self.grown(&self.powers(), nanos(self.base()), retry, nanos(cap)))
    }

    /// The first wait.
    #[must_use]
    pub fn base(&self) -> Duration {
        match self {
            Self::Fixed { base }
            | Self::Linear { base, .. }
            | Self::Exponential { base, .. }
            | Self::Fibonacci { base } => *base,
            Self::List(list) => Duration::from_nanos(list.at(0)),
        }
    }

    /// What [`grown`](Backoff::grown) multiplies with.
    #[inline]
    pub(crate) fn powers(&self) -> Powers {
        match *self {
            Self::Exponential { multiplier, .. } if multiplier.to_bits() != DOUBLING => {
                Powers::of(multiplier)
            }
            _ => Powers([1.0; Powers::KEPT]),
        }
    }

    /// The wait before retry number `retry` in nanoseconds, grown from `base`, which is the first.
    #[inline]
    pub(crate) fn grown(&self, powers: &Powers, base: u64, retry: u32, cap: u64) -> u64 {
        if let Self::Exponential { multiplier, .. } = *self {
            return exponential(powers, base, multiplier, retry, cap);
        }
        let wait = match *self {
            Self::Exponential { .. } | Self::Fixed { .. } => base,
            Self::Linear { step, .. } => base.saturating_add(nanos(step).saturating_mul(u64::from(retry))),
            Self::Fibonacci { .. } => {
                base.saturating_mul(FIBONACCI[(retry as usize).min(FIBONACCI.len() - 1)])
            }
            Self::List(ref list) => list.at(retry),
        };
        wait.min(cap)
    }
}

/// The default multiplier, to be recognised without a comparison of floats.
const DOUBLING: u64 = 2.0f64.to_bits();

#[inline]
fn exponential(powers: &Powers, base: u64, multiplier: f64, retry: u32, cap: u64) -> u64 {
    if multiplier.to_bits() == DOUBLING {
        // The default, exact and without floats: compared from the cap's side, no shift can lose a bit.
        let below_cap = retry < u64::BITS && base <= cap >> retry;
        return match base {
            _ if below_cap => base << retry,
            0 => 0,
            _ => cap,
        };
    }
    let factor = powers.raised(retry);
    if factor == 1.0 {
        // A float cannot hold a base past 104 days to the nanosecond.
        return base.min(cap);
    }
    // A float-to-integer cast saturates, so infinity becomes u64::MAX and then the cap. To the nearest, so that 1s·1.4² is
    // 1.96 s and not a nanosecond less.
    ((base as f64 * factor + 0.5) as u64).max(base).min(cap)
}

/// A multiplier, its square, the square of that, …: any power of it is a product of some of them (core has no `powi`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Powers([f64; Self::KEPT]);

impl Powers {
    /// Enough for the first 31 retries; the next squares are made when they are needed.
    const KEPT: usize = 5;

    #[cold]
    fn of(multiplier: f64) -> Self {
        // `>=` is false for NaN: a policy nobody validated still waits its base.
        let multiplier = if multiplier >= 1.0 { multiplier } else { 1.0 };
        let mut powers = [multiplier; Self::KEPT];
        for index in 1..Self::KEPT {
            powers[index] = powers[index - 1] * powers[index - 1];
        }
        Self(powers)
    }

    /// The multiplier to the power of `exponent`, or anything past every wait.
    #[inline]
    fn raised(&self, exponent: u32) -> f64 {
        let mut result = 1.0;
        for (bit, power) in self.0.iter().enumerate() {
            // Without a branch, which a count that starts again with each call would mispredict.
            result *= if exponent >> bit & 1 == 1 { *power } else { 1.0 };
        }
        match exponent >> Self::KEPT {
            0 => result,
            rest => result * self.far(rest),
        }
    }

    #[cold]
    fn far(&self, mut rest: u32) -> f64 {
        const ENOUGH: f64 = u64::MAX as f64;
        let last = self.0[Self::KEPT - 1];
        let (mut result, mut square) = (1.0, last * last);
        while rest > 0 && result <= ENOUGH {
            if rest & 1 == 1 {
                result *= square;
            }
            square *= square;
            rest >>= 1;
        }
        result
    }
}

/// Every Fibonacci number that fits in 64 bits; the last serves for all that follow.
const FIBONACCI: [u64; 93] = {
    let mut table = [1u64; 93];
    let mut index = 2;
    while index < table.len() {
        table[index] = table[index - 1] + table[index - 2];
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(backoff: Backoff, count: u32, cap: u64) -> alloc::vec::Vec<u64> {
        (0..count)
            .map(|retry| backoff.wait(retry, Duration::from_secs(cap)).as_secs())
            .collect()
    }

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn every_shape_starts_at_its_base() {
        assert_eq!(waits(Backoff::Fixed { base: secs(3) }, 3, 60), [3, 3, 3]);
        assert_eq!(
            waits(
                Backoff::Linear {
                    base: secs(3),
                    step: secs(3)
                },
                4,
                10
            ),
            [3, 6, 9, 10]
        );
        assert_eq!(
            waits(
                Backoff::Exponential {
                    base: secs(1),
                    multiplier: 2.0
                },
                7,
                30
            ),
            [1, 2, 4, 8, 16, 30, 30]
        );
        assert_eq!(
            waits(
                Backoff::Exponential {
                    base: secs(2),
                    multiplier: 3.0
                },
                4,
                100
            ),
            [2, 6, 18, 54]
        );
        assert_eq!(
            waits(Backoff::Fibonacci { base: secs(1) }, 7, 100),
            [1, 1, 2, 3, 5, 8, 13]
        );
        let list = WaitList::new(&[secs(5), secs(300), secs(7)]);
        assert_eq!(waits(Backoff::List(list), 4, 60), [5, 60, 7, 7]);
    }

    #[test]
    fn a_fractional_multiplier_is_exact_where_it_can_be() {
        let backoff = Backoff::Exponential {
            base: secs(1),
            multiplier: 1.5,
        };
        assert_eq!(backoff.wait(3, secs(100)), Duration::from_millis(3375));
    }

    #[test]
    fn a_fractional_multiplier_is_rounded_and_a_long_base_is_kept_to_the_nanosecond() {
        let wait =
            |base, multiplier, retry| Backoff::Exponential { base, multiplier }.wait(retry, Duration::MAX);
        assert_eq!(wait(secs(1), 1.4, 2), Duration::from_millis(1_960));
        let long = Duration::from_nanos((1 << 60) + 1);
        assert_eq!(wait(long, 1.5, 0), long);
        assert_eq!(wait(long, 1.0, u32::MAX), long);
    }

    #[test]
    fn nonsense_waits_its_base_instead_of_panicking() {
        for multiplier in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0] {
            let backoff = Backoff::Exponential {
                base: secs(1),
                multiplier,
            };
            assert_eq!(backoff.wait(u32::MAX, secs(9)), secs(1));
        }
        let backoff = Backoff::Exponential {
            base: secs(1),
            multiplier: f64::INFINITY,
        };
        assert_eq!(backoff.wait(u32::MAX, secs(9)), secs(9));
        assert_eq!(Backoff::List(WaitList::new(&[])).wait(7, secs(9)), Duration::ZERO);
    }
}

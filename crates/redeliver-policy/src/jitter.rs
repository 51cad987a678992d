use core::{fmt, str::FromStr};

/// How a wait is spread, so that clients that failed together do not come back together.
///
/// Every kind is one uniform draw between two bounds. `Full`, `Equal` and `Decorrelated` never pass the cap and keep
/// their spread when the backoff has reached it; `Additive` and `Proportional` may pass it by their factor, and
/// [`Policy::bounds`](crate::Policy::bounds) says so.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub enum Jitter {
    /// The wait as it is. Clients stay in step: only for one client, or for tests.
    None,
    /// `0..=d`: the strongest spread.
    #[default]
    Full,
    /// `d/2..=d`: half is certain, half is spread.
    Equal,
    /// `base..=3·previous`, within the cap: grows by chance from the previous wait instead of from the count.
    ///
    /// The range is cut to the cap before the draw. Cutting after it, as the formula's first publication did, puts two
    /// of three clients on exactly the cap once they have reached it.
    Decorrelated,
    /// `d..=d·(1+f)`: never shorter than the backoff.
    Additive(f64),
    /// `d·(1-f)..=d·(1+f)`: plus or minus.
    Proportional(f64),
}

/// The bounds of one draw, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

impl Bounds {
    /// A uniform draw. The bias of the multiply-shift is below one in 2⁶⁴ divided by the width.
    #[inline]
    pub(crate) fn draw(self, entropy: u64) -> u64 {
        let (entropy, width) = (u128::from(entropy), u128::from(self.high - self.low));
        // The upper half of entropy·(width + 1), without the 65th bit that width + 1 can have.
        let product = entropy * width;
        let (_, carry) = (product as u64).overflowing_add(entropy as u64);
        self.low + (product >> 64) as u64 + u64::from(carry)
    }
}

impl Jitter {
    /// The spread around the backoff; none for decorrelated jitter, which does not look at it.
    #[inline]
    pub(crate) fn spread(self) -> Option<Spread> {
        Some(match self {
            Self::None => Spread::Exact,
            Self::Full => Spread::Whole,
            Self::Equal => Spread::Half,
            Self::Decorrelated => return None,
            Self::Additive(factor) => Spread::Above(Share::new(factor)),
            Self::Proportional(factor) => Spread::Around(Share::new(factor)),
        })
    }

    /// The factor of the kinds that have one.
    #[must_use]
    pub const fn factor(self) -> Option<f64> {
        match self {
            Self::Additive(factor) | Self::Proportional(factor) => Some(factor),
            _ => None,
        }
    }
}

/// A kind of jitter around the backoff, with its factor made ready.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    Exact,
    Whole,
    Half,
    Above(Share),
    Around(Share),
}

impl Spread {
    #[inline]
    pub(crate) fn around(self, wait: u64) -> Bounds {
        // The usual kind apart from the others: a branch that is foreseen costs less than a jump through a table.
        if matches!(self, Self::Whole) {
            return Bounds { low: 0, high: wait };
        }
        let (low, high) = match self {
            Self::Exact => (wait, wait),
            Self::Whole => (0, wait),
            Self::Half => (wait / 2, wait),
            Self::Above(share) => (wait, wait.saturating_add(share.of(wait))),
            Self::Around(share) => {
                let part = share.of(wait);
                (wait.saturating_sub(part), wait.saturating_add(part))
            }
        };
        Bounds { low, high }
    }
}

/// A factor in parts of 2⁶⁰: taken of a wait by one multiplication, where floats cost as much as the rest of it.
///
/// A negative or NaN factor is none of it and one past 16 is 16, as the cast saturates; a valid one is at most 10.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share(u64);

impl Share {
    const BITS: u32 = 60;

    #[inline]
    fn new(factor: f64) -> Self {
        Self((factor * (1u64 << Self::BITS) as f64) as u64)
    }

    /// Its share of `wait`, to the nearest nanosecond: 0.29 of 100 ms is 29 ms, where cutting off gives 28.999999 ms.
    #[inline]
    fn of(self, wait: u64) -> u64 {
        let half = 1 << (Self::BITS - 1);
        let share = (u128::from(wait) * u128::from(self.0) + half) >> Self::BITS;
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// The bounds of decorrelated jitter, which grow from the previous wait.
#[inline]
pub(crate) fn decorrelated(base: u64, previous: u64, cap: u64) -> Bounds {
    let low = base.min(cap);
    let high = previous.max(base).saturating_mul(3).min(cap).max(low);
    Bounds { low, high }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Full => f.write_str("full"),
            Self::Equal => f.write_str("equal"),
            Self::Decorrelated => f.write_str("decorrelated"),
            Self::Additive(factor) => write!(f, "additive:{factor}"),
            Self::Proportional(factor) => write!(f, "proportional:{factor}"),
        }
    }
}

/// The text is not a jitter kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseJitterError;

impl fmt::Display for ParseJitterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected none, full, equal, decorrelated, additive:F or proportional:F, such as additive:0.3",
        )
    }
}

impl core::error::Error for ParseJitterError {}

impl FromStr for Jitter {
    type Err = ParseJitterError;

    fn from_str(text: &str) -> Result<Self, ParseJitterError> {
        let (kind, factor) = match text.split_once(':') {
            Some((kind, factor)) => (
                kind,
                Some(factor.trim().parse::<f64>().map_err(|_| ParseJitterError)?),
            ),
            None => (text, None),
        };
        match (kind.trim(), factor) {
            ("none", None) => Ok(Self::None),
            ("full", None) => Ok(Self::Full),
            ("equal", None) => Ok(Self::Equal),
            ("decorrelated", None) => Ok(Self::Decorrelated),
            ("additive", Some(factor)) => Ok(Self::Additive(factor)),
            ("proportional", Some(factor)) => Ok(Self::Proportional(factor)),
            _ => Err(ParseJitterError),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_draw_reaches_both_bounds_and_nothing_else() {
        let bounds = Bounds { low: 7, high: 9 };
        assert_eq!((bounds.draw(0), bounds.draw(u64::MAX)), (7, 9));
        assert_eq!(
            Bounds {
                low: 0,
                high: u64::MAX
            }
            .draw(u64::MAX),
            u64::MAX
        );
        assert_eq!(Bounds { low: 5, high: 5 }.draw(u64::MAX / 3), 5);
    }

    #[test]
    fn a_share_is_the_one_a_person_would_compute() {
        for percent in 1..=1_000u64 {
            let factor = percent as f64 / 100.0;
            for millis in [100, 800, 1_000, 30_000, 300_000] {
                assert_eq!(
                    Share::new(factor).of(millis * 1_000_000),
                    millis * percent * 10_000,
                    "{factor} of {millis} ms"
                );
            }
        }
        for nonsense in [-0.1, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Share::new(nonsense).of(1_000), 0);
        }
    }

    #[test]
    fn text_form_round_trips() {
        for text in [
            "none",
            "full",
            "equal",
            "decorrelated",
            "additive:0.3",
            "proportional:0.1",
        ] {
            assert_eq!(
                text.parse::<Jitter>().map(|jitter| jitter.to_string()),
                Ok(text.to_string())
            );
        }
        for text in ["", "fuzzy", "full:1", "additive", "additive:x", "proportional:"] {
            assert_eq!(text.parse::<Jitter>(), Err(ParseJitterError), "{text}");
        }
    }
}

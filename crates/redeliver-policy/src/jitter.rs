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
        let width = u128::from(self.high - self.low) + 1;
        self.low + ((u128::from(entropy) * width) >> 64) as u64
    }
}

impl Jitter {
    /// The bounds of a draw that grows from the previous wait.
    #[inline]
    pub(crate) fn decorrelated(base: u64, previous: u64, cap: u64) -> Bounds {
        let low = base.min(cap);
        let high = previous.max(base).saturating_mul(3).min(cap).max(low);
        Bounds { low, high }
    }

    /// The bounds around the capped backoff `wait`, for every kind that has them.
    #[inline]
    pub(crate) fn bounds(self, wait: u64) -> Bounds {
        let (low, high) = match self {
            Self::None | Self::Decorrelated => (wait, wait),
            Self::Full => (0, wait),
            Self::Equal => (wait / 2, wait),
            Self::Additive(factor) => (wait, wait.saturating_add(share(wait, factor))),
            Self::Proportional(factor) => {
                let part = share(wait, factor);
                (wait.saturating_sub(part), wait.saturating_add(part))
            }
        };
        Bounds { low, high }
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

/// `factor` of `wait`; a negative or NaN factor is none of it, as the cast saturates.
#[inline]
pub(crate) fn share(wait: u64, factor: f64) -> u64 {
    (wait as f64 * factor) as u64
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

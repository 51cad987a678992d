use core::time::Duration;

/// A point in time as the driver of a session measures it: nanoseconds since an epoch of the driver's own choosing.
///
/// The policy never reads a clock. An executor counts from process start, the relay from the database's epoch,
/// a simulator from zero; nothing here can tell the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The driver's epoch.
    pub const ZERO: Self = Self(0);
    /// Later than every other moment: the deadline of a call that has none.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The moment `millis` milliseconds after the epoch, saturating.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This moment moved later, saturating at [`Moment::FAR_FUTURE`].
    #[must_use]
    pub const fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    /// How long after `earlier` this moment is; zero if it is not after it, as a stepped clock may make it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// A duration in whole nanoseconds, saturating at 584 years.
#[inline]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    // In 64 bits, because this is most of what a wait costs.
    duration
        .as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(duration.subsec_nanos() as u64)
}

/// Whether a number of nanoseconds is below 292 years. Such a one is converted from and to a float in one instruction as a signed number,
/// where an unsigned one takes eight.
#[inline]
pub(crate) const fn fits_signed(nanos: u64) -> bool {
    nanos.cast_signed() >= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Moment::ZERO.plus(Duration::MAX), Moment::FAR_FUTURE);
        assert_eq!(
            Moment::FAR_FUTURE.plus(Duration::from_secs(1)),
            Moment::FAR_FUTURE
        );
        assert_eq!(Moment::ZERO.since(Moment::FAR_FUTURE), Duration::ZERO);
        assert_eq!(Moment::from_millis(u64::MAX), Moment::FAR_FUTURE);
    }
}

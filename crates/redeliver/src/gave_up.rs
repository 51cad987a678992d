use std::{error::Error, fmt, ops::Deref, time::Duration};

use redeliver_policy::{Class, Classify, StopReason, duration::display};

/// Why there is no value: the [`Ending`] of the call, whose fields can be read as this one's.
///
/// ```
/// use redeliver::{StopReason, prelude::*};
///
/// let gave_up = Policy::STANDARD.run_blocking(|_| Err::<(), _>("invalid card".to_owned())).unwrap_err();
/// assert_eq!((gave_up.attempts, gave_up.reason), (1, StopReason::Permanent));
/// assert_eq!(gave_up.into_error().as_deref(), Some("invalid card"));
/// ```
///
/// It is one pointer wide, because it is part of the result of every call, also of those that work: returned by value it made a first try that
/// works three times as slow.
#[derive(Clone, PartialEq, Eq)]
pub struct GaveUp<E>(Box<Ending<E>>);

/// How often it was tried, for how long, why no longer, and the last real error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending<E> {
    /// Attempts that were made.
    pub attempts: u32,
    /// Time since the first attempt began; since it failed where neither a deadline nor a timeout asked for the clock before,
    /// because a first try that works reads no clock.
    pub elapsed: Duration,
    /// Why no further attempt was made.
    pub reason: StopReason,
    /// The last error that the operation itself returned. There is none if every attempt was cut by its timeout, or none was made.
    pub last_error: Option<E>,
    /// Whether the last attempt was cut by its timeout.
    pub timed_out: bool,
}

impl<E> GaveUp<E> {
    pub(crate) fn new(ending: Ending<E>) -> Self {
        Self(Box::new(ending))
    }

    /// The last error, if the operation returned one.
    #[must_use]
    pub fn into_error(self) -> Option<E> {
        self.0.last_error
    }

    /// All that is known, by value.
    #[must_use]
    pub fn into_ending(self) -> Ending<E> {
        *self.0
    }

    /// The same end with another kind of error.
    #[must_use]
    pub fn map<F>(self, convert: impl FnOnce(E) -> F) -> GaveUp<F> {
        let Ending {
            attempts,
            elapsed,
            reason,
            last_error,
            timed_out,
        } = *self.0;
        GaveUp::new(Ending {
            attempts,
            elapsed,
            reason,
            last_error: last_error.map(convert),
            timed_out,
        })
    }
}

impl<E> Deref for GaveUp<E> {
    type Target = Ending<E>;

    fn deref(&self) -> &Ending<E> {
        &self.0
    }
}

impl<E> Ending<E> {
    fn sentence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = match self.attempts {
            1 => "1 attempt".to_owned(),
            many => format!("{many} attempts"),
        };
        // Whole milliseconds, or microseconds below one: nobody reads the rest.
        let micros = u64::try_from(self.elapsed.as_micros()).unwrap_or(u64::MAX);
        let shown = if micros < 1_000 {
            micros
        } else {
            micros / 1_000 * 1_000
        };
        write!(
            f,
            "gave up after {attempts} in {}: {}",
            display(Duration::from_micros(shown)),
            self.reason
        )?;
        if self.timed_out {
            f.write_str("; the last attempt timed out")?;
        }
        Ok(())
    }
}

impl<E: fmt::Display> fmt::Display for GaveUp<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence(f)?;
        match &self.last_error {
            Some(error) => write!(f, "; last error: {error}"),
            None => Ok(()),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for GaveUp<E> {
    /// The sentence, as it is what a `main` that returns it prints; `{:#?}` has all fields.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return self.0.fmt(f);
        }
        self.sentence(f)?;
        match &self.last_error {
            Some(error) => write!(f, "; last error: {error:?}"),
            None => Ok(()),
        }
    }
}

impl<E: Error + 'static> Error for GaveUp<E> {
    /// What caused the last error, which itself is in the text already.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.last_error.as_ref().and_then(Error::source)
    }
}

impl<E> Classify for GaveUp<E> {
    /// Whoever gave up has retried already: once is enough.
    fn class(&self) -> Class {
        Class::Permanent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_one_sentence() {
        let ending = Ending {
            attempts: 3,
            elapsed: Duration::from_micros(1_250_400),
            reason: StopReason::Attempts,
            last_error: Some("503 Service Unavailable"),
            timed_out: false,
        };
        let gave_up = GaveUp::new(ending.clone());
        assert_eq!(
            gave_up.to_string(),
            "gave up after 3 attempts in 1s 250ms: out of attempts; last error: 503 Service Unavailable"
        );
        let timed_out = GaveUp::new(Ending {
            attempts: 1,
            timed_out: true,
            last_error: None,
            ..ending
        });
        assert_eq!(
            timed_out.to_string(),
            "gave up after 1 attempt in 1s 250ms: out of attempts; the last attempt timed out"
        );
    }
}

use alloc::{format, string::String};
use core::{fmt, time::Duration};

use crate::{Backoff, Jitter, MAX_LISTED_WAITS, Policy, WaitList, duration, moment::bounded};

/// A field of a policy breaks its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPolicy {
    /// The field, by its name in configuration.
    pub field: &'static str,
    /// Its value, as it would be written.
    pub value: String,
    /// What is allowed.
    pub rule: &'static str,
}

impl fmt::Display for InvalidPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.field, self.value, self.rule)
    }
}

impl core::error::Error for InvalidPolicy {}

/// The largest multiplier that makes any sense.
const MAX_MULTIPLIER: f64 = 1_000.0;
/// The largest additive jitter: ten times the wait.
const MAX_ADDITIVE: f64 = 10.0;

impl Policy {
    /// Checks every field, and names the first that breaks its rule.
    ///
    /// # Errors
    /// The field, its value and the rule.
    pub fn validate(&self) -> Result<(), InvalidPolicy> {
        self.validate_lengths()?;
        self.validate_backoff()?;
        self.validate_jitter()?;
        require(
            self.max_attempts != Some(0),
            "max_attempts",
            || "0".into(),
            "must be at least 1",
        )?;
        for (field, value) in [
            ("deadline", self.deadline),
            ("attempt_timeout", self.attempt_timeout),
        ] {
            if let Some(value) = value {
                require(
                    !value.is_zero(),
                    field,
                    || "0s".into(),
                    "must be longer than 0s; leave it out for none",
                )?;
            }
        }
        Ok(())
    }

    /// What is longer than its text form can say would come back from a file as something else.
    fn validate_lengths(&self) -> Result<(), InvalidPolicy> {
        let step = match self.backoff {
            Backoff::Linear { step, .. } => step,
            _ => Duration::ZERO,
        };
        for (field, value) in [
            ("base", self.backoff.base()),
            ("step", step),
            ("max", self.max_delay),
            ("deadline", self.deadline.unwrap_or_default()),
            ("attempt_timeout", self.attempt_timeout.unwrap_or_default()),
            ("retry_after_max", self.retry_after_max),
        ] {
            let allowed = value == bounded(value);
            require(
                allowed,
                field,
                || format!("{}s", value.as_secs()),
                "must be at most 584 years",
            )?;
        }
        Ok(())
    }

    fn validate_list(&self, list: &WaitList) -> Result<(), InvalidPolicy> {
        let listed = (1..=MAX_LISTED_WAITS).contains(&list.given());
        let count = || match list.given() {
            0 => "[]".into(),
            given => format!("[{given} waits]"),
        };
        require(listed, "waits", count, "must list 1 to 32 waits")?;
        let longest = list.iter().max().unwrap_or_default();
        require(
            !longest.is_zero(),
            "waits",
            || "0s".into(),
            "must have a wait longer than 0s",
        )?;
        require(
            self.jitter != Jitter::Decorrelated || !self.backoff.base().is_zero(),
            "waits",
            || "0s first".into(),
            "must begin with a wait longer than 0s, from which decorrelated jitter grows",
        )?;
        require(
            !self.max_delay.is_zero(),
            "max",
            || shown(self.max_delay),
            "must be longer than 0s",
        )
    }

    fn validate_backoff(&self) -> Result<(), InvalidPolicy> {
        if let Backoff::List(list) = &self.backoff {
            return self.validate_list(list);
        }
        let base = self.backoff.base();
        require(!base.is_zero(), "base", || shown(base), "must be longer than 0s")?;
        require(
            base <= self.max_delay,
            "max",
            || shown(self.max_delay),
            "must be at least as long as base",
        )?;
        if let Backoff::Exponential { multiplier, .. } = self.backoff {
            let allowed = (1.0..=MAX_MULTIPLIER).contains(&multiplier);
            require(
                allowed,
                "multiplier",
                || format!("{multiplier}"),
                "must be a number from 1 to 1000",
            )?;
        }
        Ok(())
    }

    fn validate_jitter(&self) -> Result<(), InvalidPolicy> {
        let (allowed, rule) = match self.jitter {
            Jitter::Additive(factor) => (
                (0.0..=MAX_ADDITIVE).contains(&factor),
                "the factor must be a number from 0 to 10",
            ),
            Jitter::Proportional(factor) => (
                (0.0..=1.0).contains(&factor),
                "the factor must be a number from 0 to 1, so that no wait is negative",
            ),
            _ => (true, ""),
        };
        require(allowed, "jitter", || format!("{}", self.jitter), rule)
    }
}

fn shown(value: Duration) -> String {
    format!("{}", duration::display(value))
}

fn require(
    holds: bool,
    field: &'static str,
    value: impl FnOnce() -> String,
    rule: &'static str,
) -> Result<(), InvalidPolicy> {
    if holds {
        Ok(())
    } else {
        Err(InvalidPolicy {
            field,
            value: value(),
            rule,
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn each_rule_is_named() {
        let good = Policy::exponential(ms(100), ms(1_000));
        for (policy, message) in [
            (good.max_attempts(0), "max_attempts = 0: must be at least 1"),
            (
                good.multiplier(f64::NAN),
                "multiplier = NaN: must be a number from 1 to 1000",
            ),
            (
                good.multiplier(0.5),
                "multiplier = 0.5: must be a number from 1 to 1000",
            ),
            (
                good.jitter(Jitter::Additive(f64::INFINITY)),
                "jitter = additive:inf: the factor must be a number from 0 to 10",
            ),
            (
                good.deadline(Duration::ZERO),
                "deadline = 0s: must be longer than 0s; leave it out for none",
            ),
            (
                Policy::exponential(ms(0), ms(1)),
                "base = 0s: must be longer than 0s",
            ),
            (
                Policy::exponential(ms(20), ms(10)),
                "max = 10ms: must be at least as long as base",
            ),
            (Policy::list(&[]), "waits = []: must list 1 to 32 waits"),
            (
                Policy::list(&[ms(5); 33]),
                "waits = [33 waits]: must list 1 to 32 waits",
            ),
            (
                Policy::new(Backoff::List(WaitList::new(&[ms(5)])), ms(0)),
                "max = 0s: must be longer than 0s",
            ),
            (
                Policy::list(&[ms(0), ms(5)]).jitter(Jitter::Decorrelated),
                "waits = 0s first: must begin with a wait longer than 0s, from which decorrelated jitter grows",
            ),
            (
                Policy {
                    retry_after_max: Duration::MAX,
                    ..good
                },
                "retry_after_max = 18446744073709551615s: must be at most 584 years",
            ),
        ] {
            assert_eq!(
                policy.validate().map_err(|error| error.to_string()),
                Err(message.to_string())
            );
        }
        assert!(good.jitter(Jitter::Proportional(1.5)).validate().is_err());
        assert_eq!(good.retry_after_max(Duration::MAX).validate(), Ok(()));
        assert_eq!(good.validate(), Ok(()));
    }
}

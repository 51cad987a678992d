use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use crate::{Backoff, Jitter, Policy, duration::display};

/// Something about a valid policy that its author may not have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Lint {
    /// The rule, in a word to search for.
    pub rule: &'static str,
    /// What is odd, and what to do about it.
    pub message: String,
}

/// The waits that are looked at where attempts are not limited.
const HORIZON: u32 = 64;
/// More attempts than this multiply the load on a server that is down by too much.
const MANY_ATTEMPTS: u32 = 10;

impl Policy {
    /// What its author may not have meant, in words.
    #[must_use]
    pub fn lints(&self) -> Vec<Lint> {
        let checks = [
            self.lint_no_jitter(),
            self.lint_cap_never_reached(),
            self.lint_past_deadline(),
            self.lint_attempt_timeout(),
            self.lint_unlimited(),
            self.lint_amplification(),
            self.lint_passes_cap(),
            self.lint_retry_after(),
            self.lint_fixed(),
        ];
        checks.into_iter().flatten().collect()
    }

    fn retries(&self) -> u32 {
        self.max_attempts
            .map_or(HORIZON, |most| most.saturating_sub(1).min(HORIZON))
    }

    fn lint_no_jitter(&self) -> Option<Lint> {
        let none = self.jitter == Jitter::None || self.jitter.factor() == Some(0.0);
        lint(none && self.retries() > 0, "no_jitter", || {
            "clients that fail together come back together: add jitter, such as full".into()
        })
    }

    fn lint_cap_never_reached(&self) -> Option<Lint> {
        let grows = !matches!(self.backoff, Backoff::Fixed { .. } | Backoff::List(_));
        let last = self.retries().checked_sub(1)?;
        let longest = match self.jitter {
            Jitter::Decorrelated => self.bounds(last).1,
            _ => self.backoff.wait(last, Duration::MAX),
        };
        lint(grows && longest < self.max_delay, "cap_never_reached", || {
            format!(
                "the longest backoff is {}, so the cap of {} never matters",
                display(longest),
                display(self.max_delay)
            )
        })
    }

    fn lint_past_deadline(&self) -> Option<Lint> {
        let deadline = self.deadline?;
        // Without a limit on attempts, to run into the deadline is what was asked for.
        let retries = self.max_attempts?.saturating_sub(1);
        let waits = self.forecast(HORIZON);
        let worst = waits.last()?.total_longest;
        let bound = if retries > HORIZON { "more than " } else { "" };
        let cut = waits.iter().find(|wait| wait.total_longest >= deadline)?;
        lint(worst >= deadline, "past_deadline", || {
            format!(
                "the waits alone can take {bound}{}, past the deadline of {}: retry {} and later may never happen",
                display(worst),
                display(deadline),
                cut.retry
            )
        })
    }

    fn lint_attempt_timeout(&self) -> Option<Lint> {
        let (timeout, deadline) = (self.attempt_timeout, self.deadline);
        if let (None, Some(deadline)) = (timeout, deadline) {
            return lint(self.retries() > 0, "no_attempt_timeout", || {
                format!(
                    "one attempt that hangs uses up the whole deadline of {}",
                    display(deadline)
                )
            });
        }
        lint(timeout? >= deadline?, "attempt_timeout_past_deadline", || {
            "one attempt may take the whole deadline, which leaves no time for a retry".into()
        })
    }

    fn lint_unlimited(&self) -> Option<Lint> {
        lint(
            self.max_attempts.is_none() && self.deadline.is_none(),
            "unlimited",
            || {
                "neither attempts nor time are limited: right for a connection, wrong for a call somebody waits for".into()
            },
        )
    }

    fn lint_amplification(&self) -> Option<Lint> {
        let most = self.max_attempts?;
        lint(
            most > MANY_ATTEMPTS && self.deadline.is_none(),
            "amplification",
            || {
                format!(
                    "a server that is down sees each call {most} times: share a retry budget, or set a deadline"
                )
            },
        )
    }

    fn lint_passes_cap(&self) -> Option<Lint> {
        let factor = self.jitter.factor()?;
        let last = self.retries().checked_sub(1)?;
        let longest = self.bounds(last).1;
        lint(factor > 0.0 && longest > self.max_delay, "passes_cap", || {
            format!(
                "{} jitter is added after the cap: the longest wait is {}, not {}",
                if matches!(self.jitter, Jitter::Additive(_)) {
                    "additive"
                } else {
                    "proportional"
                },
                display(longest),
                display(self.max_delay)
            )
        })
    }

    fn lint_retry_after(&self) -> Option<Lint> {
        let deadline = self.deadline?;
        lint(
            self.retry_after_max < self.max_delay.min(deadline),
            "retry_after_below_cap",
            || {
                format!(
                    "a server may ask for {} at most, less than this policy waits of its own accord",
                    display(self.retry_after_max)
                )
            },
        )
    }

    fn lint_fixed(&self) -> Option<Lint> {
        let fixed = matches!(self.backoff, Backoff::Fixed { .. }) && self.retries() > 2;
        lint(fixed, "fixed", || {
            "a fixed wait gives a struggling server no more room with time: let it grow".into()
        })
    }
}

fn lint(applies: bool, rule: &'static str, message: impl FnOnce() -> String) -> Option<Lint> {
    applies.then(|| Lint {
        rule,
        message: message(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn rules(policy: Policy) -> Vec<&'static str> {
        policy.lints().into_iter().map(|lint| lint.rule).collect()
    }

    #[test]
    fn each_lint_fires_on_its_case() {
        let sound = Policy::exponential(ms(100), ms(800)).max_attempts(5);
        assert_eq!(rules(sound), [""; 0]);
        assert_eq!(rules(sound.jitter(Jitter::None)), ["no_jitter"]);
        assert_eq!(
            rules(Policy::exponential(ms(100), ms(9_000))),
            ["cap_never_reached"]
        );
        assert_eq!(
            rules(
                sound
                    .deadline(ms(700))
                    .attempt_timeout(ms(100))
                    .retry_after_max(ms(900))
            ),
            ["past_deadline"]
        );
        assert_eq!(
            rules(
                sound
                    .unlimited_attempts()
                    .deadline(ms(9_000))
                    .attempt_timeout(ms(100))
            ),
            [""; 0]
        );
        assert_eq!(rules(sound.deadline(ms(9_000))), ["no_attempt_timeout"]);
        assert_eq!(
            rules(sound.deadline(ms(9_000)).attempt_timeout(ms(9_000))),
            ["attempt_timeout_past_deadline"]
        );
        assert_eq!(rules(sound.unlimited_attempts()), ["unlimited"]);
        assert_eq!(rules(sound.max_attempts(20)), ["amplification"]);
        assert_eq!(rules(sound.jitter(Jitter::Additive(0.5))), ["passes_cap"]);
        assert_eq!(
            rules(
                sound
                    .deadline(ms(9_000))
                    .attempt_timeout(ms(100))
                    .retry_after_max(ms(10))
            ),
            ["retry_after_below_cap"]
        );
        assert_eq!(rules(Policy::fixed(ms(100))), ["fixed"]);
    }
}

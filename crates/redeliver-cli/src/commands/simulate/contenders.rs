use std::time::Duration;

use redeliver_lab::fleet::{Contender, DEFAULT_ATTEMPT_TIMEOUT};
use redeliver_policy::{Backoff, BreakerRule, BudgetRule, Jitter, PRESETS, Policy};

use crate::exit::BadInput;

/// The policy of the clients unless flags say otherwise: one that outlasts the outage, so that there is something to compare.
pub(super) const DEFAULT_POLICY: Policy =
    Policy::exponential(Duration::from_millis(100), Duration::from_secs(5))
        .jitter(Jitter::Full)
        .unlimited_attempts()
        .deadline(Duration::from_secs(60))
        .attempt_timeout(DEFAULT_ATTEMPT_TIMEOUT);

/// What shows the point of it all: synchronised, backed off but still in step, spread, and bounded.
const DEFAULT_COMPARISON: [&str; 4] = ["fixed", "exponential", "full", "full+budget"];
/// The most policies side by side.
const MAX_CONTENDERS: usize = 12;
const YOURS: &str = "yours";

/// The policy of the flags, from which all but the presets are derived.
pub(super) struct Yours {
    pub(super) policy: Policy,
    pub(super) budget: Option<f64>,
    pub(super) breaker: bool,
}

/// Retries to calls where `+budget` is asked for without a ratio.
const DEFAULT_BUDGET: f64 = 0.1;

impl Yours {
    /// The named policies, or the default comparison with the flags' own policy where that is none of them.
    pub(super) fn contenders(&self, names: Option<&[String]>) -> Result<Vec<Contender>, BadInput> {
        let Some(names) = names else {
            let mut contenders = self.all(&DEFAULT_COMPARISON)?;
            let own = self.named(YOURS)?;
            let same = |other: &Contender| other.clone().renamed(YOURS) == own;
            if !contenders.iter().any(same) {
                contenders.insert(0, own);
            }
            return Ok(contenders);
        };
        if names.len() > MAX_CONTENDERS {
            return Err(BadInput(format!(
                "--compare: {} policies named, must be at most {MAX_CONTENDERS}",
                names.len()
            )));
        }
        self.all(names)
    }

    fn all(&self, names: &[impl AsRef<str>]) -> Result<Vec<Contender>, BadInput> {
        let mut contenders: Vec<Contender> = Vec::with_capacity(names.len());
        for name in names {
            let name = name.as_ref().trim();
            if contenders.iter().any(|contender| contender.name() == name) {
                return Err(BadInput(format!("--compare {name}: named twice")));
            }
            contenders.push(self.named(name)?);
        }
        Ok(contenders)
    }

    fn named(&self, name: &str) -> Result<Contender, BadInput> {
        let mut parts = name.split('+');
        let shape = parts.next().unwrap_or_default();
        let policy = self.shape(shape).ok_or_else(|| unknown(name))?;
        let mut contender = Contender::new(name, policy);
        let rule = BudgetRule::ratio(self.budget.unwrap_or(DEFAULT_BUDGET));
        if shape == YOURS {
            if self.budget.is_some() {
                contender = contender.budget(rule);
            }
            if self.breaker {
                contender = contender.breaker(BreakerRule::DEFAULT);
            }
        }
        for part in parts {
            contender = match part {
                "budget" => contender.budget(rule),
                "breaker" => contender.breaker(BreakerRule::DEFAULT),
                _ => return Err(unknown(name)),
            };
        }
        Ok(contender)
    }

    fn shape(&self, name: &str) -> Option<Policy> {
        let own = self.policy;
        let spread = |jitter| Some(self.growing().jitter(jitter));
        match name {
            YOURS => Some(own),
            "none" => Some(own.max_attempts(1)),
            "fixed" => {
                let mut fixed = own.jitter(Jitter::None);
                fixed.backoff = Backoff::Fixed {
                    base: own.backoff.base(),
                };
                fixed.max_delay = own.backoff.base();
                Some(fixed)
            }
            "exponential" => spread(Jitter::None),
            "full" => spread(Jitter::Full),
            "equal" => spread(Jitter::Equal),
            "decorrelated" => spread(Jitter::Decorrelated),
            preset => Policy::preset(preset),
        }
    }

    /// The flags' policy as one that doubles, or grows by their multiplier.
    fn growing(&self) -> Policy {
        let mut policy = self.policy;
        let base = policy.backoff.base();
        match policy.backoff {
            Backoff::Exponential { .. } => {}
            Backoff::Fixed { .. } => {
                // What is fixed has no cap that could say how far to grow.
                policy.max_delay = DEFAULT_POLICY.max_delay.max(base);
                policy = policy.multiplier(2.0);
            }
            _ => {
                policy.backoff = Backoff::Exponential {
                    base,
                    multiplier: 2.0,
                }
            }
        }
        policy
    }
}

fn unknown(name: &str) -> BadInput {
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    BadInput(format!(
        "--compare {name:?}: must be yours, none, fixed, exponential, full, equal, decorrelated, {}, each with +budget or +breaker if wanted",
        presets.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yours(policy: Policy) -> Yours {
        Yours {
            policy,
            budget: None,
            breaker: false,
        }
    }

    fn names(contenders: &[Contender]) -> Vec<&str> {
        contenders.iter().map(Contender::name).collect()
    }

    #[test]
    fn the_flags_own_policy_is_shown_where_it_is_no_other() {
        let default = yours(DEFAULT_POLICY).contenders(None).unwrap();
        assert_eq!(names(&default), DEFAULT_COMPARISON);
        let equal = yours(DEFAULT_POLICY.jitter(Jitter::Equal))
            .contenders(None)
            .unwrap();
        assert_eq!(names(&equal)[0], YOURS);
        let budgeted = Yours {
            budget: Some(0.2),
            ..yours(DEFAULT_POLICY)
        };
        assert_eq!(names(&budgeted.contenders(None).unwrap()), DEFAULT_COMPARISON);
    }

    #[test]
    fn shapes_keep_the_flags_base_cap_and_limits() {
        let own = Policy::fixed(Duration::from_secs(7)).max_attempts(9);
        let named = |name: &str| *yours(own).named(name).unwrap().policy();
        assert_eq!(named("full").backoff.base(), Duration::from_secs(7));
        assert_eq!(named("full").max_attempts, Some(9));
        assert_eq!(named("none").max_attempts, Some(1));
        assert_eq!(named("exponential").validate(), Ok(()));
        assert_eq!(named("grpc").backoff, Policy::GRPC.backoff);
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_there_are() {
        for name in ["", "fuzzy", "full+luck", "+budget"] {
            let BadInput(message) = yours(DEFAULT_POLICY).named(name).unwrap_err();
            assert!(message.contains("decorrelated"), "{message}");
        }
        let twice = ["full".to_owned(), " full".to_owned()];
        assert!(yours(DEFAULT_POLICY).contenders(Some(&twice)).is_err());
    }
}

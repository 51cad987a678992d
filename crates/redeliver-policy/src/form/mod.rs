//! The policy as it is written in a file: flat, with durations as text, starting from a preset if one is named.

mod value;

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use value::Value;

use crate::{Backoff, Jitter, MAX_LISTED_WAITS, PRESETS, Policy, WaitList, duration};

/// Every field optional: what is left out comes from the preset.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    preset: Option<Value>,
    backoff: Option<Value>,
    base: Option<Value>,
    step: Option<Value>,
    max: Option<Value>,
    multiplier: Option<Value>,
    waits: Option<Value>,
    jitter: Option<Value>,
    max_attempts: Option<Value>,
    deadline: Option<Value>,
    attempt_timeout: Option<Value>,
    retry_after_max: Option<Value>,
    idempotent: Option<Value>,
}

/// A duration in text form.
pub(crate) struct Text(pub(crate) Duration);

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&duration::display(self.0))
    }
}

const BACKOFF_RULE: &str = "must be fixed, linear, exponential, fibonacci or list";

impl Form {
    fn into_policy(self) -> Result<Policy, String> {
        let mut policy = match &self.preset {
            None => Policy::default(),
            Some(name) => {
                let found = name.text("preset", &preset_rule())?;
                Policy::preset(found).ok_or_else(|| name.refuse("preset", preset_rule()))?
            }
        };
        self.shape(&mut policy)?;
        if let Some(jitter) = &self.jitter {
            policy.jitter = jitter
                .text("jitter", "must be text, such as \"full\"")?
                .parse::<Jitter>()
                .map_err(|error| jitter.refuse("jitter", error))?;
        }
        if let Some(attempts) = &self.max_attempts {
            policy.max_attempts = attempts.attempts("max_attempts")?;
        }
        policy.deadline = given(self.deadline.as_ref(), "deadline")?.or(policy.deadline);
        policy.attempt_timeout =
            given(self.attempt_timeout.as_ref(), "attempt_timeout")?.or(policy.attempt_timeout);
        policy.retry_after_max =
            given(self.retry_after_max.as_ref(), "retry_after_max")?.unwrap_or(policy.retry_after_max);
        if let Some(idempotent) = &self.idempotent {
            policy.idempotent = idempotent.bool("idempotent")?;
        }
        policy.validate().map_err(|error| error.to_string())?;
        Ok(policy)
    }

    fn shape(&self, policy: &mut Policy) -> Result<(), String> {
        let kind = match &self.backoff {
            Some(kind) => Some(kind.text("backoff", BACKOFF_RULE)?),
            None => None,
        };
        if let Some(waits) = &self.waits {
            return self.listed(policy, waits, kind);
        }
        let base = given(self.base.as_ref(), "base")?.unwrap_or(policy.backoff.base());
        let kind = kind.unwrap_or(policy.backoff.as_str());
        policy.backoff = match kind {
            "fixed" => Backoff::Fixed { base },
            "linear" => Backoff::Linear {
                base,
                step: given(self.step.as_ref(), "step")?.unwrap_or(base),
            },
            "exponential" => Backoff::Exponential {
                base,
                multiplier: self.factor(policy)?,
            },
            "fibonacci" => Backoff::Fibonacci { base },
            "list" => return Err("waits: backoff = \"list\" needs waits = [\"1s\", …]".into()),
            other => return Err(Value::Text(other.into()).refuse("backoff", BACKOFF_RULE)),
        };
        Self::only_for(kind, "linear", "step", self.step.as_ref())?;
        Self::only_for(kind, "exponential", "multiplier", self.multiplier.as_ref())?;
        policy.max_delay = match (given(self.max.as_ref(), "max")?, kind) {
            (Some(max), _) => max,
            (None, "fixed") => base,
            // A base given alone may pass the preset's cap, which then gives way.
            (None, _) => policy.max_delay.max(base),
        };
        Ok(())
    }

    fn only_for(kind: &str, owner: &str, field: &str, value: Option<&Value>) -> Result<(), String> {
        match value {
            Some(value) if kind != owner => {
                let rule = format!("only backoff = \"{owner}\" has a {field}, this one is {kind}");
                Err(value.refuse(field, rule))
            }
            _ => Ok(()),
        }
    }

    fn listed(&self, policy: &mut Policy, waits: &Value, kind: Option<&str>) -> Result<(), String> {
        let waits = waits.list("waits")?;
        if waits.len() > MAX_LISTED_WAITS {
            return Err(format!(
                "waits: {} listed, must be 1 to {MAX_LISTED_WAITS}",
                waits.len()
            ));
        }
        if kind.is_some_and(|kind| kind != "list") || self.base.is_some() {
            return Err("waits: a list of waits has neither another backoff nor a base".into());
        }
        Self::only_for("list", "linear", "step", self.step.as_ref())?;
        Self::only_for("list", "exponential", "multiplier", self.multiplier.as_ref())?;
        let waits: Vec<Duration> = waits
            .iter()
            .map(|wait| wait.duration("waits"))
            .collect::<Result<_, _>>()?;
        policy.backoff = Backoff::List(WaitList::new(&waits));
        let longest = waits.iter().max().copied().unwrap_or_default();
        policy.max_delay = given(self.max.as_ref(), "max")?.unwrap_or(longest);
        Ok(())
    }

    fn factor(&self, policy: &Policy) -> Result<f64, String> {
        match (&self.multiplier, policy.backoff) {
            (Some(multiplier), _) => multiplier.number("multiplier"),
            (None, Backoff::Exponential { multiplier, .. }) => Ok(multiplier),
            _ => Ok(2.0),
        }
    }
}

fn given(value: Option<&Value>, field: &str) -> Result<Option<Duration>, String> {
    value.map(|value| value.duration(field)).transpose()
}

fn preset_rule() -> String {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    format!("must be one of {}", names.join(", "))
}

/// For `#[serde(with)]` on a duration elsewhere.
pub(crate) mod text {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        Text(*value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Value::deserialize(deserializer)?
            .duration("duration")
            .map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Form::deserialize(deserializer)?
            .into_policy()
            .map_err(D::Error::custom)
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("backoff", self.backoff.as_str())?;
        match &self.backoff {
            Backoff::List(list) => {
                map.serialize_entry("waits", &list.iter().map(Text).collect::<Vec<_>>())?;
            }
            backoff => map.serialize_entry("base", &Text(backoff.base()))?,
        }
        match self.backoff {
            Backoff::Linear { step, .. } => map.serialize_entry("step", &Text(step))?,
            Backoff::Exponential { multiplier, .. } => map.serialize_entry("multiplier", &multiplier)?,
            _ => {}
        }
        map.serialize_entry("max", &Text(self.max_delay))?;
        map.serialize_entry("jitter", &self.jitter.to_string())?;
        match self.max_attempts {
            Some(most) => map.serialize_entry("max_attempts", &most)?,
            None => map.serialize_entry("max_attempts", "unlimited")?,
        }
        for (field, value) in [
            ("deadline", self.deadline),
            ("attempt_timeout", self.attempt_timeout),
        ] {
            if let Some(value) = value {
                map.serialize_entry(field, &Text(value))?;
            }
        }
        map.serialize_entry("retry_after_max", &Text(self.retry_after_max))?;
        map.serialize_entry("idempotent", &self.idempotent)?;
        map.end()
    }
}

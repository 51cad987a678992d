//! The policy as it is written in a file: flat, with durations as text, starting from a preset if one is named.

use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, time::Duration};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Error as _, Visitor},
};

use crate::{Backoff, Jitter, MAX_LISTED_WAITS, PRESETS, Policy, WaitList, duration};

/// Every field optional: what is left out comes from the preset.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form<'a> {
    #[serde(borrow)]
    preset: Option<Cow<'a, str>>,
    #[serde(borrow)]
    backoff: Option<Cow<'a, str>>,
    base: Option<Text>,
    step: Option<Text>,
    max: Option<Text>,
    multiplier: Option<f64>,
    waits: Option<Vec<Text>>,
    jitter: Option<String>,
    max_attempts: Option<Attempts>,
    deadline: Option<Text>,
    attempt_timeout: Option<Text>,
    retry_after_max: Option<Text>,
    idempotent: Option<bool>,
}

/// A duration in text form.
struct Text(Duration);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration in quotes, such as \"200ms\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        duration::parse(text)
            .map(Text)
            .map_err(|error| E::custom(format!("{text:?}: {error}")))
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&duration::display(self.0))
    }
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "must be a whole number from 1 to 4294967295, or \"unlimited\""
)]
enum Attempts {
    Limited(u32),
    Word(String),
}

impl Form<'_> {
    fn into_policy(self) -> Result<Policy, String> {
        let mut policy = match &self.preset {
            None => Policy::default(),
            Some(name) => Policy::preset(name).ok_or_else(|| unknown_preset(name))?,
        };
        self.shape(&mut policy)?;
        if let Some(jitter) = &self.jitter {
            policy.jitter = jitter
                .parse::<Jitter>()
                .map_err(|error| format!("jitter = {jitter:?}: {error}"))?;
        }
        match &self.max_attempts {
            None => {}
            Some(Attempts::Limited(most)) => policy.max_attempts = Some(*most),
            Some(Attempts::Word(word)) if word == "unlimited" => policy.max_attempts = None,
            Some(Attempts::Word(word)) => {
                return Err(format!(
                    "max_attempts = {word:?}: must be a whole number from 1 to 4294967295, or \"unlimited\""
                ));
            }
        }
        policy.deadline = self.deadline.map(|text| text.0).or(policy.deadline);
        policy.attempt_timeout = self.attempt_timeout.map(|text| text.0).or(policy.attempt_timeout);
        policy.retry_after_max = self.retry_after_max.map_or(policy.retry_after_max, |text| text.0);
        policy.idempotent = self.idempotent.unwrap_or(policy.idempotent);
        policy.validate().map_err(|error| error.to_string())?;
        Ok(policy)
    }

    fn shape(&self, policy: &mut Policy) -> Result<(), String> {
        if let Some(waits) = &self.waits {
            return self.listed(policy, waits);
        }
        let base = self.base.as_ref().map_or(policy.backoff.base(), |text| text.0);
        let kind = self.backoff.as_deref().unwrap_or(match policy.backoff.as_str() {
            "list" => "exponential",
            kind => kind,
        });
        policy.backoff = match kind {
            "fixed" => Backoff::Fixed { base },
            "linear" => Backoff::Linear {
                base,
                step: self.step.as_ref().map_or(base, |text| text.0),
            },
            "exponential" => Backoff::Exponential {
                base,
                multiplier: self.factor(policy),
            },
            "fibonacci" => Backoff::Fibonacci { base },
            "list" => return Err("waits: backoff = \"list\" needs waits = [\"1s\", …]".into()),
            other => {
                let allowed = "must be fixed, linear, exponential, fibonacci or list";
                return Err(format!("backoff = {other:?}: {allowed}"));
            }
        };
        if self.step.is_some() && kind != "linear" {
            return Err(format!(
                "step: only backoff = \"linear\" has a step, this one is {kind}"
            ));
        }
        if self.multiplier.is_some() && kind != "exponential" {
            return Err(format!(
                "multiplier: only backoff = \"exponential\" has one, this one is {kind}"
            ));
        }
        policy.max_delay = match (&self.max, kind) {
            (Some(text), _) => text.0,
            (None, "fixed") => base,
            // A base given alone may pass the preset's cap, which then gives way.
            (None, _) => policy.max_delay.max(base),
        };
        Ok(())
    }

    fn listed(&self, policy: &mut Policy, waits: &[Text]) -> Result<(), String> {
        if waits.len() > MAX_LISTED_WAITS {
            return Err(format!(
                "waits: {} listed, must be 1 to {MAX_LISTED_WAITS}",
                waits.len()
            ));
        }
        if self.backoff.as_deref().is_some_and(|kind| kind != "list") || self.base.is_some() {
            return Err("waits: a list of waits has neither another backoff nor a base".into());
        }
        let waits: Vec<Duration> = waits.iter().map(|text| text.0).collect();
        policy.backoff = Backoff::List(WaitList::new(&waits));
        let longest = waits.iter().max().copied().unwrap_or_default();
        policy.max_delay = self.max.as_ref().map_or(longest, |text| text.0);
        Ok(())
    }

    fn factor(&self, policy: &Policy) -> f64 {
        match (self.multiplier, policy.backoff) {
            (Some(multiplier), _) | (None, Backoff::Exponential { multiplier, .. }) => multiplier,
            _ => 2.0,
        }
    }
}

fn unknown_preset(name: &str) -> String {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    format!("preset = {name:?}: must be one of {}", names.join(", "))
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

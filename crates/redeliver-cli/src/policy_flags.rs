use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use redeliver_policy::{Backoff, Jitter, PRESETS, Policy, duration};
use serde_json::{Map, Value, json};

use crate::exit::BadInput;

/// A retry policy: a preset or a file, and what the flags change of it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Retry policy")]
pub(crate) struct PolicyFlags {
    /// Start from this preset: interactive, standard, batch, reconnect, aws-standard, grpc or finagle [default: standard]
    #[arg(long, value_name = "NAME", value_parser = parse_preset, conflicts_with = "policy")]
    pub(crate) preset: Option<String>,
    /// Start from the policy in this TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// How waits grow: fixed, linear, exponential or fibonacci
    #[arg(long, value_name = "KIND", value_parser = ["fixed", "linear", "exponential", "fibonacci"])]
    pub(crate) backoff: Option<String>,
    /// The first wait, such as 200ms
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) base: Option<Duration>,
    /// The cap on the backoff, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) max: Option<Duration>,
    /// What each wait is multiplied by
    #[arg(long, value_name = "FACTOR")]
    pub(crate) multiplier: Option<f64>,
    /// The waits themselves, separated by commas; the last one repeats
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = duration::parse)]
    pub(crate) waits: Option<Vec<Duration>>,
    /// Attempts in all, the first included, or "unlimited"
    #[arg(long, value_name = "N", value_parser = parse_attempts)]
    pub(crate) max_attempts: Option<MaxAttempts>,
    /// How waits are spread: none, full, equal, decorrelated, additive:F or proportional:F
    #[arg(long, value_name = "KIND[:F]")]
    pub(crate) jitter: Option<Jitter>,
    /// Time for the whole call, waits included
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) deadline: Option<Duration>,
    /// Time for each attempt
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) attempt_timeout: Option<Duration>,
    /// The longest Retry-After that is obeyed; a longer one ends the call
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) retry_after_max: Option<Duration>,
}

/// A limit on attempts, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaxAttempts(pub(crate) Option<u32>);

impl PolicyFlags {
    /// The policy that the flags describe.
    pub(crate) fn policy(&self) -> Result<Policy, BadInput> {
        self.policy_from(Policy::STANDARD)
    }

    /// The policy that the flags describe, starting from `default` where they name no other start.
    pub(crate) fn policy_from(&self, default: Policy) -> Result<Policy, BadInput> {
        let mut form = match (&self.policy, &self.preset) {
            (Some(path), _) => read(path)?,
            (None, Some(name)) => Map::from_iter([("preset".to_owned(), json!(name))]),
            (None, None) => written(&default),
        };
        self.overlay(&mut form);
        serde_json::from_value(Value::Object(form)).map_err(|error| BadInput(format!("policy: {error}")))
    }

    /// One set of rules for files and flags: the flags become lines of the file.
    fn overlay(&self, form: &mut Map<String, Value>) {
        if self.waits.is_some() {
            for shape in ["backoff", "base", "max", "multiplier", "step"] {
                form.remove(shape);
            }
        } else if self.backoff.is_some() || self.base.is_some() || self.multiplier.is_some() {
            form.remove("waits");
        }
        if let Some(kind) = &self.backoff {
            form.remove("step");
            if kind != "exponential" {
                form.remove("multiplier");
            }
        }
        let shown = |value: Duration| json!(duration::display(value).to_string());
        let mut set = |field: &str, value: Option<Value>| {
            if let Some(value) = value {
                form.insert(field.to_owned(), value);
            }
        };
        set("backoff", self.backoff.as_ref().map(|kind| json!(kind)));
        set("base", self.base.map(shown));
        set("max", self.max.map(shown));
        set("multiplier", self.multiplier.map(|factor| json!(factor)));
        set(
            "waits",
            self.waits
                .as_ref()
                .map(|waits| waits.iter().copied().map(shown).collect()),
        );
        set("jitter", self.jitter.map(|jitter| json!(jitter.to_string())));
        set(
            "max_attempts",
            self.max_attempts
                .map(|MaxAttempts(most)| most.map_or(json!("unlimited"), |most| json!(most))),
        );
        set("deadline", self.deadline.map(shown));
        set("attempt_timeout", self.attempt_timeout.map(shown));
        set("retry_after_max", self.retry_after_max.map(shown));
    }
}

fn written(policy: &Policy) -> Map<String, Value> {
    match serde_json::to_value(policy) {
        Ok(Value::Object(mut form)) => {
            // A base or a multiplier given alone may pass the default's cap, which then gives way as in a file.
            if matches!(policy.backoff, Backoff::Fixed { .. }) {
                form.remove("max");
            }
            form
        }
        _ => Map::new(),
    }
}

fn read(path: &Path) -> Result<Map<String, Value>, BadInput> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| BadInput(format!("policy file {shown}: {error}")))?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| at(&text, path, &error))?;
    // Checked as TOML first: its errors know the line.
    toml::from_str::<Policy>(&text).map_err(|error| at(&text, path, &error))?;
    match serde_json::to_value(table) {
        Ok(Value::Object(form)) => Ok(form),
        _ => Err(BadInput(format!(
            "policy file {shown}: must be a table of fields, such as base = \"200ms\""
        ))),
    }
}

fn at(text: &str, path: &Path, error: &toml::de::Error) -> BadInput {
    let line = error.span().map_or(1, |span| {
        text[..span.start.min(text.len())].lines().count().max(1)
    });
    BadInput(format!(
        "policy file {}:{line}: {}",
        path.display(),
        error.message().replace('\n', " ")
    ))
}

fn parse_preset(name: &str) -> Result<String, String> {
    if Policy::preset(name).is_some() {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    Err(format!("must be one of {}", names.join(", ")))
}

fn parse_attempts(text: &str) -> Result<MaxAttempts, String> {
    match text {
        "unlimited" => Ok(MaxAttempts(None)),
        number => match number.parse() {
            Ok(most) if most >= 1 => Ok(MaxAttempts(Some(most))),
            _ => Err("must be a whole number from 1 to 4294967295, or unlimited".to_owned()),
        },
    }
}

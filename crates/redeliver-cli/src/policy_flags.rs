use std::{
    fmt::Display,
    fs::File,
    io::Read,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use redeliver_policy::{Backoff, Jitter, PRESETS, Policy, duration};
use serde_json::{Map, Value, json};

use crate::exit::BadInput;

/// The longest policy file that is read; a policy has a dozen short lines.
const MAX_FILE: u64 = 64 * 1024;
/// A longer value of a policy file is not repeated in an error.
const MAX_QUOTED: usize = 80;

/// A retry policy: a preset or a file, and what the flags change of it.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Retry policy")]
pub(crate) struct PolicyFlags {
    /// Start from this preset: interactive, standard, batch, reconnect, aws-standard, grpc, finagle or delivery [default: standard]
    #[arg(long, value_name = "NAME", value_parser = parse_preset, conflicts_with = "policy")]
    pub(crate) preset: Option<String>,
    /// Start from the policy in this TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// How waits grow: fixed, linear, exponential or fibonacci
    #[arg(long, value_name = "KIND", value_parser = ["fixed", "linear", "exponential", "fibonacci"])]
    pub(crate) backoff: Option<String>,
    /// The first wait, such as 200ms
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub(crate) base: Option<Duration>,
    /// The cap on the backoff, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub(crate) max: Option<Duration>,
    /// What each wait is multiplied by
    #[arg(long, value_name = "FACTOR", value_parser = parse_multiplier, allow_hyphen_values = true)]
    pub(crate) multiplier: Option<f64>,
    /// The waits themselves, separated by commas; the last one repeats
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = duration::parse, allow_hyphen_values = true)]
    pub(crate) waits: Option<Vec<Duration>>,
    /// Attempts in all, the first included, or "unlimited"
    #[arg(long, value_name = "N", value_parser = parse_attempts, allow_hyphen_values = true)]
    pub(crate) max_attempts: Option<MaxAttempts>,
    /// How waits are spread: none, full, equal, decorrelated, additive:F or proportional:F
    #[arg(long, value_name = "KIND[:F]")]
    pub(crate) jitter: Option<Jitter>,
    /// Time for the whole call, waits included
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub(crate) deadline: Option<Duration>,
    /// Time for each attempt
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub(crate) attempt_timeout: Option<Duration>,
    /// The longest Retry-After that is obeyed; a longer one ends the call
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
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
            (None, None) => {
                let mut form = written(&default);
                // A base given alone may pass the default's cap, which then gives way as in a file.
                if let (Some(base), None) = (self.base, self.max)
                    && base > default.max_delay
                {
                    form.insert("max".to_owned(), shown(base));
                }
                form
            }
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
            // What is fixed has no cap of its own that a growing backoff could take over.
            if matches!(policy.backoff, Backoff::Fixed { .. }) {
                form.remove("max");
            }
            form
        }
        _ => Map::new(),
    }
}

fn shown(value: Duration) -> Value {
    json!(duration::display(value).to_string())
}

fn read(path: &Path) -> Result<Map<String, Value>, BadInput> {
    let refused = |reason: &dyn Display| BadInput(format!("policy file {}: {reason}", path.display()));
    let mut text = String::new();
    let file = File::open(path).map_err(|error| refused(&error))?;
    file.take(MAX_FILE + 1)
        .read_to_string(&mut text)
        .map_err(|error| refused(&error))?;
    if text.len() as u64 > MAX_FILE {
        return Err(refused(&format!(
            "longer than the {MAX_FILE} bytes a policy may have"
        )));
    }
    let table: toml::Table = toml::from_str(&text).map_err(|error| at(&text, path, &error))?;
    // Checked as TOML first: its errors know the line.
    toml::from_str::<Policy>(&text).map_err(|error| at(&text, path, &error))?;
    match serde_json::to_value(table) {
        Ok(Value::Object(form)) => Ok(form),
        _ => Err(refused(&"must be a table of fields, such as base = \"200ms\"")),
    }
}

/// The error with the line it is on, and what that line says unless the error tells it.
fn at(text: &str, path: &Path, error: &toml::de::Error) -> BadInput {
    let message = error.message().replace('\n', " ");
    let whole = |span: &Range<usize>| span.start == 0 && span.end >= text.trim_end().len();
    let line = match error.span() {
        Some(span) if !whole(&span) => {
            let before = text.get(..span.start).unwrap_or_default();
            Some(before.matches('\n').count())
        }
        // A rule about several fields is broken by the whole of the file; the message starts with the field it blames.
        _ => {
            let blamed = message.split([' ', ':']).next();
            text.lines()
                .position(|line| field_of(line).map(|(field, _)| field) == blamed)
        }
    };
    let place = line.map_or(String::new(), |line| format!(":{}", line + 1));
    let said = line.and_then(|line| text.lines().nth(line)).unwrap_or_default();
    let context = match field_of(said) {
        Some((field, _)) if message.contains(field) => String::new(),
        Some((field, value)) if message.starts_with(value) => format!("{field} = "),
        Some((field, value)) if value.len() <= MAX_QUOTED => format!("{field} = {value}: "),
        Some((field, _)) => format!("{field}: "),
        None => String::new(),
    };
    BadInput(format!(
        "policy file {}{place}: {context}{message}",
        path.display()
    ))
}

/// The field that a line sets, and the value as it is written.
fn field_of(line: &str) -> Option<(&str, &str)> {
    let (field, value) = line.split_once('=')?;
    let field = field.trim();
    let named = !field.is_empty() && field.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    named.then_some((field, value.trim()))
}

/// The duration of a limit, which no time at all is not.
pub(crate) fn parse_limit(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err("must be longer than 0s".to_owned()),
        Ok(limit) => Ok(limit),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn parse_preset(name: &str) -> Result<String, String> {
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

/// Checked here because JSON, through which flags and files meet, has no way to write NaN or infinity and would drop them.
fn parse_multiplier(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (1.0..=1_000.0).contains(&factor) => Ok(factor),
        _ => Err("must be a number from 1 to 1000".to_owned()),
    }
}

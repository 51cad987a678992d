//! `redeliver explain`: what a policy really does.

mod picture;
mod report;
mod totals;
mod words;

use std::{iter, path::PathBuf};

use clap::Args;
use redeliver_policy::{PRESETS, Policy};

use self::report::{ComparedJson, PresetsJson, Report};
use crate::{
    exit::Exit,
    output,
    policy_flags::{PolicyFlags, parse_preset},
};

/// A policy that is no preset as it stands.
const UNNAMED: &str = "this policy";

const EXAMPLES: &str = "\
Every wait is told at its shortest, on average and at its longest, with the running totals: bounds that hold, not \
samples. The average of decorrelated jitter alone is sampled, always with the same numbers. Totals count waits only; \
the attempts' own time comes on top. Where attempts are not limited, the totals are those of the waits shown.

Examples:
  redeliver explain --preset standard
  redeliver explain --base 1s --max 30s --max-attempts 7 --jitter additive:0.3
  redeliver explain --waits 1s,5s,30s --jitter equal --deadline 1m --json
  redeliver explain --policy payments.toml --svg payments.svg
  redeliver explain --base 200ms --compare aws-standard --compare grpc
  redeliver explain --presets";

/// Tell what a policy does: every wait, the totals, a drawing, and what its author may not have meant.
///
/// Nothing is sent and nothing waits. A policy comes from a preset, a file or flags; the flags change what the other two say.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// Set this preset beside the policy; may be given more than once
    #[arg(long, value_name = "PRESET", value_parser = parse_preset)]
    compare: Vec<String>,
    /// Set all presets side by side, with their true totals
    #[arg(long, conflicts_with_all = ["PolicyFlags", "compare"])]
    presets: bool,
    /// How many waits to show, from 1 to 1000 [default: all up to 100; 20 where attempts are unlimited]
    #[arg(long, value_name = "N", value_parser = parse_shown, allow_hyphen_values = true)]
    waits_shown: Option<u32>,
    /// Draw it into this file as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON object, times in milliseconds
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    policy: PolicyFlags,
}

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<Exit> {
        let reports = self.reports()?;
        let [first, others @ ..] = reports.as_slice() else {
            return Ok(Exit::Done);
        };
        let alone = others.is_empty();
        if let Some(path) = &self.svg {
            let drawing = if alone {
                picture::one(first)
            } else {
                picture::several(&reports)
            };
            output::drawing(path, &drawing)?;
        }
        if self.json {
            self.print_json(first, others);
        } else if alone {
            output::line(&words::one(first));
        } else {
            output::line(&words::several(&reports, !self.presets));
        }
        Ok(Exit::Done)
    }

    fn reports(&self) -> anyhow::Result<Vec<Report>> {
        if self.presets {
            let presets = PRESETS.iter();
            let reports = presets.map(|preset| Report::new(preset.name, preset.policy, self.waits_shown));
            return Ok(reports.collect());
        }
        let mut reports = vec![Report::new(&self.name(), self.policy.policy()?, self.waits_shown)];
        for name in &self.compare {
            let policy = Policy::preset(name).unwrap_or_default();
            reports.push(Report::new(name, policy, self.waits_shown));
        }
        Ok(reports)
    }

    /// The preset's name where nothing was changed of it.
    fn name(&self) -> String {
        let plain = PolicyFlags {
            preset: self.policy.preset.clone(),
            ..PolicyFlags::default()
        };
        match &self.policy.preset {
            Some(name) if plain == self.policy => name.clone(),
            _ => UNNAMED.to_owned(),
        }
    }

    fn print_json(&self, first: &Report, others: &[Report]) {
        let compare: Vec<_> = others.iter().map(Report::json).collect();
        let report = first.json();
        if self.presets {
            let presets: Vec<_> = iter::once(report).chain(compare).collect();
            output::json(&PresetsJson { presets });
        } else {
            output::json(&ComparedJson { report, compare });
        }
    }
}

fn parse_shown(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(shown) if (1..=1_000).contains(&shown) => Ok(shown),
        _ => Err("must be a whole number from 1 to 1000".to_owned()),
    }
}

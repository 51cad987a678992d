//! How carefully a job goes, as an operator says it.

use std::time::Duration;

use clap::Args;
use redeliver_outbox::job::JobPlan;
use redeliver_policy::duration;

use crate::exit::BadInput;

/// With any of these the redrive is a job.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "As a job")]
pub(in super::super) struct PlanFlags {
    /// Put so many back first, and see what becomes of them before there are more; 0 for all at once [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    canary: Option<u32>,
    /// Each time so many times as many as before [default: 2]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    grow: Option<u32>,
    /// The time between [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = every, allow_hyphen_values = true)]
    every: Option<Duration>,
    /// Stop by itself when more than this share of them fails, such as 0.2 or 20% [default: 0.2]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true)]
    stop_at: Option<u16>,
    /// Leave it to a relay that runs elsewhere (redeliver serve), and do not wait for it
    #[arg(long)]
    pub(in super::super) background: bool,
}

impl PlanFlags {
    /// The plan, if a job is asked for.
    pub(in super::super) fn plan(&self) -> Result<Option<JobPlan>, BadInput> {
        let asked = self.background
            || self.canary.is_some()
            || self.grow.is_some()
            || self.every.is_some()
            || self.stop_at.is_some();
        if !asked {
            return Ok(None);
        }
        let usual = JobPlan::default();
        let plan = JobPlan {
            canary: self.canary.unwrap_or(usual.canary),
            factor: self.grow.unwrap_or(usual.factor),
            interval: self.every.unwrap_or(usual.interval),
            stop_permille: self.stop_at.unwrap_or(usual.stop_permille),
        };
        plan.validate().map_err(|invalid| BadInput(invalid.to_string()))?;
        Ok(Some(plan))
    }
}

fn every(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|error| error.to_string())
}

/// In thousandths.
fn share(text: &str) -> Result<u16, String> {
    let (number, whole) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().ok().map(|number| number / whole);
    match share {
        Some(share) if (0.0..=1.0).contains(&share) => Ok((share * 1000.0).round() as u16),
        _ => Err("must be a share from 0 to 1, such as 0.2, or from 0% to 100%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_in_both_ways() {
        for (text, permille) in [
            ("0", 0),
            ("0.2", 200),
            ("20%", 200),
            ("12.5 %", 125),
            ("1", 1000),
            ("100%", 1000),
        ] {
            assert_eq!(share(text), Ok(permille), "{text}");
        }
        for bad in ["", "%", "-0.1", "1.1", "101%", "NaN", "inf", "a fifth"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn it_is_a_job_only_where_one_is_asked_for() {
        assert_eq!(PlanFlags::default().plan().unwrap(), None);
        let background = PlanFlags {
            background: true,
            ..PlanFlags::default()
        };
        assert_eq!(background.plan().unwrap(), Some(JobPlan::default()));
        let wrong = PlanFlags {
            grow: Some(0),
            ..PlanFlags::default()
        };
        assert!(
            wrong
                .plan()
                .is_err_and(|error| error.to_string().contains("factor"))
        );
    }
}

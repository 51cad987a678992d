//! What a job looks like, in words and in JSON.

use redeliver_outbox::{
    Timestamp,
    desk::{Filter, Job},
    job::JobState,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::super::when;
use crate::readable;

/// A job.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobForm<'a> {
    job: i64,
    /// redrive or discard.
    kind: &'static str,
    /// canary, ramping, paused, done, stopped or cancelled.
    state: &'static str,
    /// What happened last, in a sentence.
    note: &'a str,
    who: &'a str,
    why: &'a str,
    /// To which dead letters.
    filter: Value,
    /// Dead letters that matched when it was made.
    matched: u64,
    /// Let out so far.
    released: u64,
    delivered: u64,
    /// Attempted in vain, and tried again by the relay.
    failing: u64,
    /// Dead again.
    failed: u64,
    /// Let out, and nothing is known of them yet.
    waiting: u64,
    /// Let out before it was resumed after a stop: what became of these is not counted against it.
    excused: u64,
    canary: u32,
    factor: u32,
    interval_ms: u64,
    stop_share: f64,
    created_at: String,
    updated_at: String,
    /// None if it is over or paused.
    next_step_at: Option<String>,
    runner: Option<&'a str>,
}

impl<'a> JobForm<'a> {
    pub(crate) fn of(job: &'a Job) -> Self {
        let tally = &job.tally;
        Self {
            job: job.id,
            kind: job.kind.as_str(),
            state: job.state.as_str(),
            note: &job.note,
            who: &job.act.who,
            why: &job.act.why,
            filter: job.filter.to_json(),
            matched: tally.matched,
            released: tally.released,
            delivered: tally.delivered,
            failing: tally.failing,
            failed: tally.failed,
            waiting: tally.waiting(),
            excused: job.excused.tally.released,
            canary: job.plan.canary,
            factor: job.plan.factor,
            interval_ms: u64::try_from(job.plan.interval.as_millis()).unwrap_or(u64::MAX),
            stop_share: f64::from(job.plan.stop_permille) / 1000.0,
            created_at: job.created_at.to_string(),
            updated_at: job.updated_at.to_string(),
            next_step_at: (!job.state.is_over() && job.state != JobState::Paused)
                .then(|| job.next_step_at.to_string()),
            runner: job.runner.as_deref(),
        }
    }
}

/// `job 7, ramping: 15 of 100 out, 9 arrived, 1 failing, 0 dead again, 5 unknown`.
pub(in super::super) fn line(job: &Job) -> String {
    let tally = &job.tally;
    format!(
        "job {}, {}: {} of {} out, {} arrived, {} failing, {} dead again, {} not known yet",
        job.id,
        job.state,
        tally.released,
        tally.matched,
        tally.delivered,
        tally.failing,
        tally.failed,
        tally.waiting()
    )
}

/// Everything, a line each.
pub(super) fn words(job: &Job, now: Timestamp) -> String {
    let tally = &job.tally;
    let plan = &job.plan;
    let care = match plan.canary {
        0 => "all at once, in batches".to_owned(),
        canary => format!(
            "{canary} first, then {} times as many every {}",
            plan.factor,
            readable::duration(plan.interval)
        ),
    };
    let mut lines = vec![
        format!("job {}: {} of {}", job.id, job.kind, of(&job.filter)),
        format!("state        {}", job.state),
        format!("note         {}", readable::line(&job.note, 200)),
        format!(
            "made         {} by {}{}",
            when::both(job.created_at, now),
            readable::line(&job.act.who, 40),
            reason(&job.act.why)
        ),
        format!(
            "plan         {care}; stops when more than {} % fail",
            plan.stop_percent()
        ),
        format!("matched      {}", tally.matched),
        format!("let out      {}", tally.released),
        format!("arrived      {}", tally.delivered),
        format!("failing      {}", tally.failing),
        format!("dead again   {}", tally.failed),
        format!("not known    {}", tally.waiting()),
        format!("last change  {}", when::both(job.updated_at, now)),
    ];
    if let Some(next) = next(job) {
        lines.push(format!("next         {next}"));
    }
    lines.join("\n")
}

fn reason(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!(": {}", readable::line(why, 100)),
    }
}

/// What an operator can do.
fn next(job: &Job) -> Option<String> {
    let id = job.id;
    Some(match job.state {
        JobState::Paused => {
            format!("`redeliver job resume {id}` lets it go on, `redeliver job cancel {id}` ends it")
        }
        JobState::Stopped => format!(
            "`redeliver dead list` shows what failed; mend the cause, then `redeliver job resume {id} --why …` goes on with what is left"
        ),
        JobState::Canary | JobState::Ramping => match &job.runner {
            Some(runner) => format!(
                "{} takes its steps; `redeliver job pause {id}` holds it",
                readable::line(runner, 60)
            ),
            None => format!("`redeliver serve` takes its steps, or `redeliver job follow {id}`"),
        },
        _ => return None,
    })
}

/// Which dead letters, in words.
pub(super) fn of(filter: &Filter) -> String {
    let mut conditions = Vec::new();
    if let Value::Object(kept) = filter.to_json() {
        for (name, value) in kept {
            let value = match (name.as_str(), value) {
                ("statuses" | "searched" | "unsearched", _) => continue,
                ("messages", Value::Array(messages)) => format!("{} named", messages.len()),
                ("created_from" | "created_before" | "died_by", value) => {
                    Timestamp::from_millis(value.as_i64().unwrap_or_default()).to_string()
                }
                (_, Value::String(text)) => format!("'{}'", readable::line(&text, 60)),
                (_, value) => value.to_string(),
            };
            conditions.push(format!("{} {value}", name.replace('_', " ")));
        }
    }
    if conditions.is_empty() {
        "every dead letter".to_owned()
    } else {
        format!("dead letters with {}", conditions.join(", "))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use redeliver_outbox::{
        DeadReason,
        desk::Act,
        job::{Excused, JobKind, JobPlan, Tally},
    };

    use super::*;

    pub(crate) fn job(state: JobState, note: &str) -> Job {
        Job {
            id: 7,
            kind: JobKind::Redrive,
            filter: Filter {
                destination: Some("billing".to_owned()),
                reason: Some(DeadReason::Permanent),
                ..Filter::default()
            },
            act: Act {
                who: "ana".to_owned(),
                why: "the receiver is back".to_owned(),
            },
            state,
            plan: JobPlan {
                canary: 5,
                factor: 2,
                interval: Duration::from_secs(2),
                stop_permille: 125,
            },
            tally: Tally {
                matched: 100,
                released: 15,
                delivered: 9,
                failing: 1,
                failed: 2,
            },
            wave: 10,
            exhausted: false,
            reached: 15,
            looked: 0,
            excused: Excused::default(),
            created_at: Timestamp::from_millis(1_800_000_000_000),
            updated_at: Timestamp::from_millis(1_800_000_060_000),
            next_step_at: Timestamp::from_millis(1_800_000_062_000),
            runner: (state == JobState::Ramping).then(|| "4711-0badcafe".to_owned()),
            note: note.to_owned(),
        }
    }

    #[test]
    fn a_job_is_told_in_every_state() {
        let now = Timestamp::from_millis(1_800_000_061_000);
        let told: Vec<String> = [
            job(JobState::Ramping, "15 of 100 are out"),
            job(JobState::Paused, "paused by bo: lunch"),
            job(JobState::Stopped, "stopped by itself: 3 of 12 failed"),
            job(JobState::Done, "done: 15 of 15 arrived"),
        ]
        .iter()
        .map(|job| {
            format!(
                "{}\n{}\n{}",
                words(job, now),
                line(job),
                serde_json::to_value(JobForm::of(job)).unwrap()
            )
        })
        .collect();
        insta::assert_snapshot!(told.join("\n\n"));
    }

    #[test]
    fn the_empty_filter_is_everything() {
        assert_eq!(of(&Filter::default()), "every dead letter");
    }
}

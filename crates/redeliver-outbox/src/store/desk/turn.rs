//! What an operator does to a job: holding it, letting it go on, ending it.

use super::job::none;
use crate::{
    desk::{Act, Job},
    job::{self, Excused, JobState, Tally},
    store::{Result, StoreError, StoreErrorKind},
};

/// What an operator does to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Turn {
    Pause,
    Resume,
    Cancel,
}

impl Turn {
    /// What the audit calls it.
    pub(in crate::store) const fn action(self) -> &'static str {
        match self {
            Self::Pause => "pause_job",
            Self::Resume => "resume_job",
            Self::Cancel => "cancel_job",
        }
    }

    /// The job after it, or why not.
    pub(in crate::store) fn of(self, id: i64, found: Option<Job>, act: &Act) -> Result<Job> {
        let mut job = found.ok_or_else(|| none(id))?;
        let refuse = |what: String, next: &'static str| {
            Err(StoreError::new(StoreErrorKind::NotFound, what).next(next))
        };
        let said = if act.why.is_empty() {
            String::new()
        } else {
            format!(": {}", crate::limits::error_text(&act.why))
        };
        match (self, job.state) {
            (Self::Resume, JobState::Stopped) => again(&mut job, act, &said)?,
            (_, JobState::Stopped) => {
                let what = format!("job {id} {}", job.note);
                return refuse(
                    what,
                    "resume it with a reason, or make a new one for what is left",
                );
            }
            (_, over) if over.is_over() => {
                let what = format!("job {id} is over: {}", ended(&job));
                return refuse(what, "make a new one for what is left");
            }
            (Self::Pause, JobState::Paused) => {
                return refuse(
                    format!("job {id} is paused already: {}", job.note),
                    "resume or cancel it",
                );
            }
            (Self::Resume, state) if state != JobState::Paused => {
                let what = format!("job {id} is not paused: it is {state}, and goes on by itself");
                return refuse(what, "look at it again");
            }
            (Self::Pause, _) => {
                job.state = JobState::Paused;
                job.note = format!("paused by {}{said}", act.who);
            }
            (Self::Resume, _) => {
                job.state = job::resumed(&job.plan, &job.tally.but(&job.excused));
                job.note = format!("resumed by {}{said}", act.who);
            }
            (Self::Cancel, _) => {
                job.state = JobState::Cancelled;
                job.note = format!("cancelled by {}{said}; what was let out stays out", act.who);
            }
        }
        job.runner = None;
        Ok(job)
    }
}

fn ended(job: &Job) -> String {
    match job.state {
        JobState::Done => "it is done".to_owned(),
        _ => job.note.clone(),
    }
}

/// Lets one go on that stopped by itself, as if it began with what is left.
fn again(job: &mut Job, act: &Act, said: &str) -> Result<()> {
    let id = job.id;
    if act.why.trim().is_empty() {
        let what = format!("job {id} {}: it goes on only with a reason", job.note);
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next("say what has changed since"));
    }
    job.excused = Excused {
        until: job.reached,
        tally: Tally {
            matched: 0,
            ..job.tally
        },
    };
    job.wave = 0;
    job.state = job::resumed(&job.plan, &job.tally.but(&job.excused));
    job.note = format!("resumed by {}{said}; what failed before is not counted", act.who);
    Ok(())
}

//! Putting many dead letters back with care: a few first, then more and more, and no more when too many of them fail. Pure: what is
//! decided here, a desk does.

use std::{fmt, str::FromStr, time::Duration};

use crate::limits::{JOB_BACKLOG, JOB_BATCH, JOB_CANARY, JOB_FACTOR, JOB_INTERVAL, JOB_STOP_PERMILLE};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$of])* $variant,)* }

        impl $name {
            /// As it is written in the tables.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = NoJobWord;

            fn from_str(word: &str) -> Result<Self, NoJobWord> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(NoJobWord(word.chars().take(40).collect())),
                }
            }
        }
    };
}

words! {
    /// What a job does with dead letters.
    JobKind {
        /// Puts them back.
        Redrive = "redrive",
        /// Gives them up.
        Discard = "discard",
    }
}

words! {
    /// Where a job is in its life.
    JobState {
        /// The first few are out, or about to be; everything waits for what becomes of them.
        Canary = "canary",
        /// More and more are let out.
        Ramping = "ramping",
        /// An operator holds it.
        Paused = "paused",
        /// Every dead letter was let out, and has an outcome.
        Done = "done",
        /// It stopped by itself: too many failed.
        Stopped = "stopped",
        /// An operator ended it.
        Cancelled = "cancelled",
    }
}

impl JobState {
    /// Whether nothing more comes of it.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Cancelled)
    }
}

/// A word that no kind or state of a job has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no kind or state of a job")]
pub struct NoJobWord(String);

/// How carefully a job goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPlan {
    /// So many first, whose outcomes are waited for; 0 lets all out at once, in batches.
    pub canary: u32,
    /// Each time so many times as many as the time before.
    pub factor: u32,
    /// So long between two times.
    pub interval: Duration,
    /// It stops when more than so many of a thousand outcomes are failures.
    pub stop_permille: u16,
}

impl JobPlan {
    /// The usual care.
    const USUAL: Self = Self {
        canary: JOB_CANARY,
        factor: JOB_FACTOR,
        interval: JOB_INTERVAL,
        stop_permille: JOB_STOP_PERMILLE,
    };

    /// All of them, in batches: for a discard, where nothing can be learnt from the first few.
    pub const AT_ONCE: Self = Self {
        canary: 0,
        ..Self::USUAL
    };
}

impl Default for JobPlan {
    fn default() -> Self {
        Self::USUAL
    }
}

/// What is wrong with a plan: the field, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPlan(String);

/// The longest time between two steps: a job that moves once a day is forgotten.
const LONGEST_INTERVAL: Duration = Duration::from_secs(24 * 3600);

impl JobPlan {
    /// The share of failures at which it stops, in percent: `20`, `12.5`.
    #[must_use]
    pub fn stop_percent(&self) -> String {
        match self.stop_permille % 10 {
            0 => (self.stop_permille / 10).to_string(),
            tenth => format!("{}.{tenth}", self.stop_permille / 10),
        }
    }

    /// Refuses a plan that no job could follow.
    ///
    /// # Errors
    ///
    /// If a field is out of range: which one, and what is allowed.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        let most = JOB_BATCH as u64;
        let wrong = if u64::from(self.canary) > most {
            format!("a canary of {} is too many; use 0 to {most}", self.canary)
        } else if !(1..=100).contains(&self.factor) {
            format!("a factor of {} is none; use 1 to 100", self.factor)
        } else if self.interval > LONGEST_INTERVAL {
            format!(
                "an interval of {:?} is too long; use a day at most",
                self.interval
            )
        } else if self.stop_permille > 1000 {
            "more than all outcomes cannot fail; use a share from 0 to 1".to_owned()
        } else {
            return Ok(());
        };
        Err(InvalidPlan(wrong))
    }
}

/// What has become of a job's messages so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Dead letters that matched when the job was made: it never lets out more.
    pub matched: u64,
    /// Let out.
    pub released: u64,
    /// Arrived, or, of a discard, given up.
    pub delivered: u64,
    /// Attempted in vain, and tried again by the relay: they may still arrive.
    pub failing: u64,
    /// Dead again.
    pub failed: u64,
}

impl Tally {
    /// Let out, and nothing is known of them yet.
    #[must_use]
    pub const fn waiting(&self) -> u64 {
        self.released.saturating_sub(self.decided())
    }

    /// Those of which something is known.
    #[must_use]
    pub const fn decided(&self) -> u64 {
        self.delivered + self.failing + self.failed
    }

    /// Those of which nothing good is known.
    #[must_use]
    pub const fn in_vain(&self) -> u64 {
        self.failing + self.failed
    }
}

impl Tally {
    /// What a job is judged by: all but what it is excused for, as if it had begun behind it.
    #[must_use]
    pub const fn but(&self, excused: &Excused) -> Self {
        let past = &excused.tally;
        Self {
            matched: self.matched.saturating_sub(past.released),
            released: self.released.saturating_sub(past.released),
            delivered: self.delivered.saturating_sub(past.delivered),
            failing: self.failing.saturating_sub(past.failing),
            failed: self.failed.saturating_sub(past.failed),
        }
    }
}

/// What a job let out before it was resumed, after it had stopped by itself: it says nothing against what comes then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excused {
    /// The messages up to this number.
    pub until: i64,
    /// What has become of them so far.
    pub tally: Tally,
}

/// What a job does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing yet.
    Wait,
    /// Lets so many more out.
    Release(usize),
    /// Stops by itself.
    Stop,
    /// Has done everything.
    Finish,
}

/// What a job is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// What has become of everything that it let out, but for what it is excused for.
    pub all: Tally,
    /// What has become of those that it let out last: what went well for long hides that it does not any more.
    pub lately: Tally,
}

impl Judged {
    /// That of the two of which more than the plan allows has failed, if one has.
    #[must_use]
    pub fn too_many(&self, plan: &JobPlan) -> Option<&Tally> {
        let enough = match plan.canary {
            // With nothing on its way and more to come, whatever was let out is enough: somebody else may have taken the others.
            _ if self.all.waiting() == 0 && self.all.released < self.all.matched => 1,
            0 => JOB_CANARY,
            canary => canary,
        };
        let failed = |tally: &&Tally| {
            tally.decided() >= u64::from(enough)
                && tally.in_vain() * 1000 > u64::from(plan.stop_permille) * tally.decided()
        };
        [&self.all, &self.lately].into_iter().find(failed)
    }
}

/// What a job that is in this state does next. `wave` is how many it let out the last time; `exhausted` says that there are no more, however
/// many there were.
#[must_use]
pub fn decide(plan: &JobPlan, state: JobState, judged: &Judged, wave: u64, exhausted: bool) -> Decision {
    if judged.too_many(plan).is_some() {
        return Decision::Stop;
    }
    let tally = &judged.all;
    let left = match exhausted {
        true => 0,
        false => tally.matched.saturating_sub(tally.released),
    };
    let wanted = match (left, tally.released, state) {
        (0, ..) if tally.waiting() == 0 => return Decision::Finish,
        (0, ..) => return Decision::Wait,
        _ if plan.canary == 0 => JOB_BATCH as u64,
        // What others took of it, or what was further away, is made up for.
        (_, released, JobState::Canary) if released < u64::from(plan.canary) => {
            u64::from(plan.canary) - released
        }
        (_, 0, _) => u64::from(plan.canary),
        (_, _, JobState::Canary) if tally.waiting() > 0 => return Decision::Wait,
        _ => wave
            .max(u64::from(plan.canary))
            .saturating_mul(u64::from(plan.factor)),
    };
    // More would wait in the outbox instead of here.
    if tally.waiting() >= JOB_BACKLOG as u64 {
        return Decision::Wait;
    }
    let batch = wanted.min(left).min(JOB_BATCH as u64);
    Decision::Release(usize::try_from(batch).unwrap_or(JOB_BATCH))
}

/// The state of a job that goes on.
#[must_use]
pub fn resumed(plan: &JobPlan, tally: &Tally) -> JobState {
    if plan.canary > 0 && tally.released <= u64::from(plan.canary) {
        JobState::Canary
    } else {
        JobState::Ramping
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;

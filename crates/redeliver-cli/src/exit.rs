use std::process::ExitCode;

use redeliver_outbox::store::{StoreError, StoreErrorKind};
use redeliver_policy::StopReason;

/// How the process ends. The numbers are part of the interface; `redeliver call --help` and the help of the outbox's commands list
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked.
    Done,
    /// It could not, and said why.
    Failed,
    /// What it was asked makes no sense; the message names the field and what is allowed.
    BadInput,
    /// There is no such message, or it is not where this can be done to it.
    NotFound,
    /// The tables are missing, or of another version than this program.
    NotMigrated,
    /// The database cannot be reached, or had no time.
    Unreachable,
    /// The database is there and does not let us: no rights, read-only, full, too old.
    Refused,
    /// A look at the outbox's health found a problem.
    Problems,
    /// A relay stopped before everything that it had begun was finished and written down.
    Unfinished,
    /// The time given was over before the outbox was empty.
    TimeUp,
    /// A call was given up for this reason.
    GaveUp(StopReason),
    /// Somebody did not wait for the end that they had asked for: the number of the signal.
    Signalled(u8),
}

/// The ends of the outbox's commands, as their help lists them.
const OUTBOX_ENDS: [(Exit, &str); 10] = [
    (Exit::Done, "done"),
    (Exit::Failed, "failed, and said why"),
    (Exit::BadInput, "the command or the configuration makes no sense"),
    (Exit::NotFound, "no such message, or not in a state for this"),
    (
        Exit::NotMigrated,
        "the tables are missing or of another version: redeliver migrate",
    ),
    (Exit::Unreachable, "the database cannot be reached, or is busy"),
    (
        Exit::Refused,
        "the database refuses: rights, read-only, full, too old",
    ),
    (Exit::Problems, "doctor found a problem"),
    (
        Exit::Unfinished,
        "serve stopped with messages still on their way; they are sent again",
    ),
    (
        Exit::TimeUp,
        "serve --until-empty was not done when --for was over",
    ),
];

/// The help text of a command of the outbox: its examples, and how it ends.
pub(crate) fn outbox_help(examples: &str) -> String {
    help(examples, &OUTBOX_ENDS)
}

/// The help text of a command with these ends of its own.
pub(crate) fn help(examples: &str, ends: &[(Exit, &str)]) -> String {
    let mut help = format!("Examples:\n{examples}\n\nExit codes:\n");
    for (exit, meaning) in ends {
        help.push_str(&format!("  {:3}  {meaning}\n", exit.code()));
    }
    help
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::BadInput => 2,
            Self::NotFound => 3,
            Self::NotMigrated => 4,
            Self::Unreachable => 5,
            Self::Refused => 6,
            Self::Problems => 7,
            Self::Unfinished => 8,
            Self::TimeUp => 9,
            // As a shell reports it.
            Self::Signalled(number) => 128_u8.saturating_add(number),
            Self::GaveUp(reason) => match reason {
                StopReason::Permanent => 10,
                StopReason::Attempts => 11,
                StopReason::Deadline => 12,
                StopReason::RetryAfter => 13,
                StopReason::UnknownOutcome => 14,
                StopReason::Budget => 15,
                StopReason::Breaker => 16,
                StopReason::Nested => 17,
                // As a shell reports SIGINT.
                StopReason::Cancelled => 130,
                _ => 1,
            },
        }
    }

    /// The end that an error leads to.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        let cause = error.chain().find_map(|cause| {
            let stored = cause
                .downcast_ref::<StoreError>()
                .map(|error| Self::of_store(error.kind()));
            let given = cause.is::<BadInput>().then_some(Self::BadInput);
            let found = cause.is::<NotFound>().then_some(Self::NotFound);
            stored.or(given).or(found)
        });
        cause.unwrap_or(Self::Failed)
    }

    const fn of_store(kind: StoreErrorKind) -> Self {
        match kind {
            StoreErrorKind::Unreachable | StoreErrorKind::Busy => Self::Unreachable,
            StoreErrorKind::NotMigrated | StoreErrorKind::TooNew => Self::NotMigrated,
            StoreErrorKind::Denied | StoreErrorKind::ReadOnly | StoreErrorKind::Unsupported => Self::Refused,
            StoreErrorKind::BadInput => Self::BadInput,
            StoreErrorKind::NotFound | StoreErrorKind::Conflict => Self::NotFound,
            _ => Self::Failed,
        }
    }
}

impl From<()> for Exit {
    /// A command that has nothing more to say did what it was asked.
    fn from((): ()) -> Self {
        Self::Done
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// What was asked makes no sense: the field, its value, and what is allowed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadInput(pub(crate) String);

/// What was asked for is not there: what, and where to look.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stop_reason_has_a_number_of_its_own() {
        let mut codes: Vec<u8> = StopReason::ALL
            .iter()
            .map(|reason| Exit::GaveUp(*reason).code())
            .collect();
        codes.extend(OUTBOX_ENDS.map(|(exit, _)| exit.code()));
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }

    #[test]
    fn trouble_with_the_database_ends_in_the_same_way_whoever_tells_it() {
        let error = StoreError::new(StoreErrorKind::NotMigrated, "the tables are missing");
        assert_eq!(
            Exit::of(&anyhow::Error::new(error).context("sqlite://x.db")),
            Exit::NotMigrated
        );
    }
}

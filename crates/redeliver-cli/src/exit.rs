use std::process::ExitCode;

use redeliver_policy::StopReason;

/// How the process ends. The numbers are part of the interface, and `redeliver call --help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked.
    Done,
    /// It could not, and said why.
    Failed,
    /// What it was asked makes no sense; the message names the field and what is allowed.
    BadInput,
    /// A call was given up for this reason.
    GaveUp(StopReason),
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::BadInput => 2,
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
        if error.is::<BadInput>() {
            Self::BadInput
        } else {
            Self::Failed
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stop_reason_has_a_number_of_its_own() {
        let mut codes: Vec<u8> = StopReason::ALL
            .iter()
            .map(|reason| Exit::GaveUp(*reason).code())
            .collect();
        assert!(codes.iter().all(|code| *code > 2));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), StopReason::ALL.len());
    }
}

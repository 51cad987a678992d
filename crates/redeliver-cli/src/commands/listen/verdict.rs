//! Whether a request is what it should be, and what it is answered with.

use std::time::Duration;

use redeliver_lab::receiver::{Answer, Arrival, chance};
use redeliver_outbox::{
    Seen,
    destination::webhook::{Secret, Unverified, verify},
};
use serde_json::json;

use super::flags::ListenArgs;

/// What is known of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Signature {
    /// Nobody asked.
    Unchecked,
    Valid,
    /// A header of the three is not there.
    Missing(&'static str),
    Bad(Unverified),
}

impl Signature {
    pub(super) fn of(arrival: &Arrival, body: &[u8], secrets: &[Secret], tolerance: Duration) -> Self {
        if secrets.is_empty() {
            return Self::Unchecked;
        }
        let header = |name| arrival.header(name).ok_or(Self::Missing(name));
        let checked = || {
            let (id, time) = (header("webhook-id")?, header("webhook-timestamp")?);
            let signatures = header("webhook-signature")?;
            verify(secrets, id, time, signatures, body, arrival.at, tolerance).map_err(Self::Bad)
        };
        match checked() {
            Ok(()) => Self::Valid,
            Err(problem) => problem,
        }
    }

    pub(super) const fn is_believed(&self) -> bool {
        matches!(self, Self::Unchecked | Self::Valid)
    }

    /// In one word.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Unchecked => "unchecked",
            Self::Valid => "valid",
            Self::Missing(_) => "missing",
            Self::Bad(Unverified::Old(..)) => "too old",
            Self::Bad(Unverified::Early(..)) => "too early",
            Self::Bad(_) => "wrong",
        }
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Unchecked | Self::Valid => None,
            Self::Missing(name) => Some(format!("there is no header {name}")),
            Self::Bad(problem) => Some(problem.to_string()),
        }
    }
}

/// What becomes of a request, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Taken,
    /// Its work was done before.
    Skipped,
    /// As was asked for: why this one.
    Fails(String),
    /// Not signed as it should be.
    Unbelieved,
    /// Too large, or broken off.
    Unread(u16, String),
    /// The work could not be done.
    Undone(String),
}

/// Why this delivery of an id, counted from 1, is to fail, if it is.
pub(super) fn fails(args: &ListenArgs, number: u64, delivery: u64) -> Option<String> {
    if let Some(first) = args.fail_first.filter(|first| delivery <= *first) {
        return Some(format!("failure {delivery} of {first} for this id"));
    }
    if let Some(percent) = args.fail.filter(|percent| chance(args.seed, number, *percent)) {
        return Some(format!("one of the {percent}% that fail"));
    }
    args.always_fails().then(|| "all fail".to_owned())
}

impl Verdict {
    pub(super) const fn of(seen: Seen) -> Self {
        match seen {
            Seen::First => Self::Taken,
            Seen::Again => Self::Skipped,
        }
    }

    pub(super) fn answer(&self, args: &ListenArgs, signature: &Signature) -> Answer {
        let with = |status, body: serde_json::Value| Answer {
            body: body.to_string(),
            ..Answer::status(status)
        };
        let refused = |status, words: &str| with(status, json!({ "ok": false, "error": words }));
        let answer = match self {
            Self::Taken => with(200, json!({ "ok": true })),
            Self::Skipped => with(200, json!({ "ok": true, "seen_before": true })),
            Self::Unbelieved => refused(401, &signature.problem().unwrap_or_default()),
            Self::Unread(status, words) => refused(*status, words),
            Self::Undone(words) => refused(500, words),
            Self::Fails(_) => failure(args, &refused),
        };
        answer.after(args.delay)
    }
}

fn failure(args: &ListenArgs, refused: &dyn Fn(u16, &str) -> Answer) -> Answer {
    let status = match (args.status, args.reject) {
        (Some(status), _) => status,
        (None, true) => 422,
        (None, false) => 503,
    };
    let retry_after = args.retry_after.map(|wait| {
        // Half a second asked for is a second: a whole one is the least that the header can say.
        wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
    });
    Answer {
        status: (!args.hang).then_some(status),
        retry_after,
        ..refused(status, "failed on purpose")
    }
}

//! Findings, as they are told.

use redeliver_outbox::{
    desk::{Finding, Grade},
    store::StoreError,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::output;

pub(super) const fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::Good => "good",
        Grade::Advice => "advice",
        Grade::Problem => "problem",
    }
}

/// What could not be looked at, and why.
pub(super) fn failed(topic: &'static str, error: &anyhow::Error) -> Finding {
    let store = error.chain().find_map(|cause| cause.downcast_ref::<StoreError>());
    let next = store.map_or("", StoreError::next_step);
    let what = output::causes(error);
    // The next step has a place of its own.
    let what = what
        .strip_suffix(next)
        .map_or(what.as_str(), |what| what.trim_end_matches("; "));
    Finding::problem(topic, what, next)
}

/// What a look at the outbox's health found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FindingForm<'a> {
    /// good, advice or problem.
    grade: &'static str,
    /// What was looked at.
    topic: &'a str,
    /// What was found, in one sentence.
    what: &'a str,
    /// What to do; empty if nothing.
    next: &'a str,
}

impl<'a> FindingForm<'a> {
    pub(crate) fn of(finding: &'a Finding) -> Self {
        Self {
            grade: grade(finding.grade),
            topic: finding.topic,
            what: &finding.what,
            next: &finding.next,
        }
    }
}

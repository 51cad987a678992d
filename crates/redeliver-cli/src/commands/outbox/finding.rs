//! Findings, as they are told.

use redeliver_outbox::desk::{Finding, Grade};
use serde::Serialize;
use utoipa::ToSchema;

pub(super) const fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::Good => "good",
        Grade::Advice => "advice",
        Grade::Problem => "problem",
    }
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

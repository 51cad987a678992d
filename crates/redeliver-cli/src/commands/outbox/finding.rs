//! Findings, as they are told.

use redeliver_outbox::desk::{Finding, Grade};
use serde_json::{Value, json};

pub(super) const fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::Good => "good",
        Grade::Advice => "advice",
        Grade::Problem => "problem",
    }
}

pub(super) fn form(finding: &Finding) -> Value {
    json!({
        "grade": grade(finding.grade),
        "topic": finding.topic,
        "what": finding.what,
        "next": finding.next,
    })
}

//! What a look at something found.

/// What a look at the database's health, or at a destination, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub grade: Grade,
    /// What was looked at: `version`, `clock`, `vacuum`, `shards`, …
    pub topic: &'static str,
    /// What was found, in one sentence.
    pub what: String,
    /// What to do; empty if nothing.
    pub next: String,
}

impl Finding {
    /// What is as it should be needs no next step.
    #[must_use]
    pub fn new(grade: Grade, topic: &'static str, what: impl Into<String>, next: &str) -> Self {
        let next = if grade == Grade::Good { "" } else { next };
        Self {
            grade,
            topic,
            what: what.into(),
            next: next.to_owned(),
        }
    }

    /// As it should be.
    #[must_use]
    pub fn good(topic: &'static str, what: impl Into<String>) -> Self {
        Self::new(Grade::Good, topic, what, "")
    }

    /// It works, and could be better.
    #[must_use]
    pub fn advice(topic: &'static str, what: impl Into<String>, next: &str) -> Self {
        Self::new(Grade::Advice, topic, what, next)
    }

    /// It will hurt.
    #[must_use]
    pub fn problem(topic: &'static str, what: impl Into<String>, next: &str) -> Self {
        Self::new(Grade::Problem, topic, what, next)
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Good,
    /// Works, and could be better.
    Advice,
    /// Will hurt.
    Problem,
}

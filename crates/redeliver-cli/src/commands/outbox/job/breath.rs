use std::{collections::HashMap, time::Duration};

use redeliver_outbox::{desk::Job, job::Tally};

/// Steps that bring nothing new do not follow upon each other at once: a job may have no interval of its own, and wait for a destination
/// that is held for a day.
#[derive(Debug, Default)]
pub(in super::super) struct Breath {
    stood: HashMap<i64, (Tally, i64)>,
}

impl Breath {
    const LENGTH: Duration = Duration::from_millis(100);

    /// How long to wait at least after a step of this job.
    pub(in super::super) fn after(&mut self, job: &Job) -> Duration {
        let stands = (job.tally, job.reached);
        if job.state.is_over() {
            self.stood.remove(&job.id);
            return Duration::ZERO;
        }
        match self.stood.insert(job.id, stands) {
            Some(stood) if stood == stands => Self::LENGTH,
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::job::JobState;

    use super::*;
    use crate::commands::outbox::job::form::tests::job;

    #[test]
    fn a_step_without_news_is_followed_by_a_breath() {
        let mut breath = Breath::default();
        let (mut one, mut other) = (job(JobState::Canary, ""), job(JobState::Ramping, ""));
        other.id += 1;
        assert_eq!(breath.after(&one), Duration::ZERO);
        assert_eq!(breath.after(&one), Breath::LENGTH);
        assert_eq!(breath.after(&other), Duration::ZERO);
        one.reached += 1;
        assert_eq!(breath.after(&one), Duration::ZERO);
        one.tally.delivered += 1;
        assert_eq!(breath.after(&one), Duration::ZERO);
        assert_eq!(breath.after(&one), Breath::LENGTH);
    }
}

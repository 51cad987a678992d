use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use redeliver_outbox::{desk::Job, job::Tally};

/// When a whole round of steps has brought nothing new, the next does not follow at once: a job may have no interval of its own, and wait
/// for a destination that is held for a day.
#[derive(Debug, Default)]
pub(in super::super) struct Breath {
    stood: HashMap<i64, (Tally, i64)>,
    /// Those whose last step brought nothing new, since one did.
    idle: HashSet<i64>,
}

impl Breath {
    const LENGTH: Duration = Duration::from_millis(100);

    /// How long to wait at least after a step of this job.
    pub(in super::super) fn after(&mut self, job: &Job) -> Duration {
        let stands = (job.tally, job.reached);
        let stood = self.stood.insert(job.id, stands);
        if job.state.is_over() {
            self.stood.remove(&job.id);
        }
        if job.state.is_over() || stood != Some(stands) {
            self.idle.clear();
            return Duration::ZERO;
        }
        if self.idle.insert(job.id) {
            return Duration::ZERO;
        }
        self.idle.clear();
        Self::LENGTH
    }
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::job::JobState;

    use super::*;
    use crate::commands::outbox::job::form::tests::job;

    #[test]
    fn a_round_without_news_is_followed_by_a_breath() {
        let mut breath = Breath::default();
        let (mut one, mut other) = (job(JobState::Canary, ""), job(JobState::Ramping, ""));
        other.id += 1;
        let rounds = |breath: &mut Breath, job: &Job| [(); 3].map(|()| breath.after(job));
        let (at_once, later) = (Duration::ZERO, Breath::LENGTH);
        assert_eq!(rounds(&mut breath, &one), [at_once, at_once, later]);
        // While another one goes on, nobody waits.
        for _ in 0..5 {
            other.reached += 1;
            assert_eq!(breath.after(&other), at_once);
            assert_eq!(breath.after(&one), at_once);
        }
        assert_eq!(breath.after(&other), at_once);
        assert_eq!(breath.after(&one), later);
        one.tally.delivered += 1;
        assert_eq!(rounds(&mut breath, &one), [at_once, at_once, later]);
    }
}

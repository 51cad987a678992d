//! What servers asked of all their callers, by origin.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use redeliver_policy::{Budget, Moment, Outer, Pipeline, PipelineRun};

use crate::Plan;

/// Origins remembered at once; beyond that the one whose hold ends first is forgotten.
const MOST_ORIGINS: usize = 1024;
/// No header makes a client stay away from a server for longer than this.
const LONGEST_HOLD: Duration = Duration::from_secs(60 * 60);

/// Until when each origin (scheme, host and port) wants no requests.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    until: Mutex<HashMap<String, Moment>>,
}

impl Holds {
    /// The origin answered at `now` that it wants no requests for `wait`. A shorter wait does not undo a longer one.
    pub(crate) fn keep(&self, origin: &str, now: Moment, wait: Duration) {
        let until = now.plus(wait.min(LONGEST_HOLD));
        if until <= now {
            return;
        }
        let mut holds = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = holds.get_mut(origin) {
            *known = until.max(*known);
            return;
        }
        if holds.len() >= MOST_ORIGINS {
            holds.retain(|_, until| *until > now);
        }
        if holds.len() >= MOST_ORIGINS {
            let first = holds.iter().min_by_key(|(_, until)| **until);
            if let Some(origin) = first.map(|(origin, _)| origin.clone()) {
                holds.remove(&origin);
            }
        }
        holds.insert(origin.to_owned(), until);
    }

    /// Until when the origin wants no requests; [`Moment::ZERO`] if it never said.
    pub(crate) fn until(&self, origin: &str) -> Moment {
        let holds = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        holds.get(origin).copied().unwrap_or(Moment::ZERO)
    }
}

/// The client's pipeline for one call, held back by what its origin told others.
///
/// It owns what it needs: a borrow here would keep the whole call from being spawned.
pub(crate) struct HeldPlan {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) holds: Arc<Holds>,
    pub(crate) origin: String,
}

impl Plan for HeldPlan {
    type Session<'a> = PipelineRun<'a>;

    fn needs_clock(&self) -> bool {
        true
    }

    fn start<'a>(&'a self, now: Moment, outer: Outer<'a>) -> PipelineRun<'a> {
        self.pipeline.start(now, outer)
    }

    fn shared_budget(&self) -> Option<&Arc<Budget>> {
        self.pipeline.shared_budget()
    }

    fn held_until(&self) -> Moment {
        self.holds.until(&self.origin)
    }
}

#[cfg(test)]
mod tests {
    use redeliver_policy::{Jitter, Policy, StopReason};

    use super::*;
    use crate::{Run as _, clock};

    fn at(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    #[test]
    fn a_shorter_hold_does_not_undo_a_longer_one() {
        let holds = Holds::default();
        holds.keep("http://a:80", at(0), Duration::from_secs(5));
        holds.keep("http://a:80", at(1_000), Duration::from_secs(1));
        assert_eq!(holds.until("http://a:80"), at(5_000));
        assert_eq!(holds.until("http://b:80"), Moment::ZERO);
        holds.keep("http://b:80", at(0), Duration::ZERO);
        assert_eq!(holds.until("http://b:80"), Moment::ZERO);
    }

    #[test]
    fn no_header_holds_for_ever_and_no_number_of_hosts_fills_the_memory() {
        let holds = Holds::default();
        holds.keep("forever", at(0), Duration::MAX);
        assert_eq!(holds.until("forever"), at(3_600_000));
        for host in 0..3 * MOST_ORIGINS {
            holds.keep(&host.to_string(), at(0), Duration::from_millis(1 + host as u64));
        }
        assert_eq!(holds.until.lock().unwrap().len(), MOST_ORIGINS);
        assert_eq!(holds.until("forever"), at(3_600_000));
        // Those that are over make room before any that is not.
        holds.keep("late", at(10_000), Duration::from_secs(1));
        assert_eq!(holds.until.lock().unwrap().len(), 2);
    }
    #[tokio::test(start_paused = true)]
    async fn a_hold_that_grows_while_it_is_waited_for_is_waited_for_to_its_end() {
        const POLICY: Policy = Policy::fixed(Duration::from_secs(1)).jitter(Jitter::None);
        let holds = Arc::new(Holds::default());
        let plan = HeldPlan {
            pipeline: Arc::new(Pipeline::new().retry(POLICY)),
            holds: Arc::clone(&holds),
            origin: "http://a:80".to_owned(),
        };
        let start = clock::now();
        holds.keep("http://a:80", start, Duration::from_secs(5));
        let call = plan
            .retrier()
            .run(async |attempt| Ok::<_, std::io::Error>((attempt.number, clock::now().since(start))));
        let another = async {
            clock::sleep(Duration::from_secs(3)).await;
            holds.keep("http://a:80", clock::now(), Duration::from_secs(6));
        };
        let (result, ()) = tokio::join!(call, another);
        let (attempt, began) = result.unwrap();
        assert_eq!(attempt, 1);
        assert!((9..10).contains(&began.as_secs()), "{began:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_held_back_can_be_ended() {
        let holds = Arc::new(Holds::default());
        holds.keep("http://a:80", clock::now(), Duration::from_secs(50));
        let plan = HeldPlan {
            pipeline: Arc::new(Pipeline::new().retry(Policy::STANDARD)),
            holds,
            origin: "http://a:80".to_owned(),
        };
        let retrier = plan.retrier().until(clock::sleep(Duration::from_secs(1)));
        let gave_up = retrier
            .run(async |_| Ok::<_, std::io::Error>(()))
            .await
            .unwrap_err();
        assert_eq!((gave_up.attempts, gave_up.reason), (0, StopReason::Cancelled));
    }
}

//! redeliver: a `const` policy, `Session` for the decision, `Budget` for the whole client.

use std::hint::black_box;
use std::time::Duration;

use redeliver_policy::{Class, Decision, Moment, Policy, Session};

use crate::peer::{BASE, CAP, Peer, Schedule};

pub(crate) struct Redeliver;

static ENDLESS: Policy = Policy::exponential(BASE, CAP).unlimited_attempts();

/// The decision itself, with chance drawn as the executor draws it.
pub(crate) struct Waits(Session<'static>);

impl Schedule for Waits {
    type Settings = &'static Policy;

    fn settings() -> &'static Policy {
        &ENDLESS
    }

    fn start(settings: &&'static Policy) -> Self {
        Self(Session::new(black_box(settings), Moment::ZERO))
    }

    fn next_wait(&mut self) -> Option<Duration> {
        match self
            .0
            .on_failure(Moment::ZERO, Class::Transient, fastrand::u64(..))
        {
            Decision::Retry { after, .. } => Some(after),
            Decision::Stop(_) => None,
        }
    }
}

impl Peer for Redeliver {
    const PACKAGE: &'static str = "redeliver";
    const SETTINGS: &'static str = "Policy::exponential, its default full jitter";

    type Schedule = Waits;
}

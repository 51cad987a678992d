//! Random histories, through the pure function and through the store: after every step both agree.

use std::{fmt, time::Duration};

use fastrand::Rng;

use super::{
    Factory, Failure,
    failure::{Outcome, check, same},
    subject::{Subject, Worker, act, attempted, dead, only},
};
use crate::{
    DeadReason, MessageId, Payload, Timestamp,
    desk::{Edit, MessageRef, Record},
    state::{Event, Place, Refused, State, Status, apply},
    store::{AfterDeath, Lease, StoreErrorKind, Until, Verdict},
};

const MESSAGES: usize = 4;
const STEPS: usize = 40;
const HISTORIES: u64 = 12;
/// A failing history is shortened by at most so many tries, each in an outbox of its own.
const SHORTENINGS: usize = 120;
/// A server's clock is finer than a millisecond, and one of them rounds.
const ROUNDING: Duration = Duration::from_millis(1);

/// Something that happens to one of the messages. Numbers of attempts are relative to what the model has counted, so that a
/// shortened history still means something.
#[derive(Clone, Copy)]
struct Step {
    message: usize,
    what: What,
    /// Told by an owner whose epoch has passed.
    stale: bool,
    /// Told of the life before its last redrive.
    former: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Counted { ahead: i64 },
    Uncounted { ahead: i64 },
    Delivered { ahead: i64 },
    Retry { ahead: i64, wait: u64 },
    Dead { ahead: Option<i64>, reason: DeadReason },
    PostponedAt { wait: u64 },
    PostponedFor { wait: u64 },
    Redriven,
    Discarded,
    Edited,
    Taken,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stale = if self.stale { " (stale)" } else { "" };
        let former = if self.former { " (of a former life)" } else { "" };
        write!(f, "#{} {:?}{stale}{former}", self.message, self.what)
    }
}

fn random_step(rng: &mut Rng) -> Step {
    // The next attempt most of the time, the last one told again now and then, and one out of turn.
    let ahead = [1, 1, 1, 1, 1, 0, 0, -1, 2, 5][rng.usize(..10)];
    let wait = rng.u64(..3_600_000);
    let reason = DeadReason::ALL[rng.usize(..DeadReason::ALL.len())];
    let what = match rng.u8(..20) {
        0..=1 => What::Counted { ahead },
        2 => What::Uncounted { ahead },
        3..=4 => What::Delivered { ahead },
        5..=8 => What::Retry { ahead, wait },
        9..=11 => What::Dead {
            ahead: rng.bool().then_some(ahead),
            reason,
        },
        12 => What::PostponedAt { wait },
        13 => What::PostponedFor { wait },
        14..=16 => What::Redriven,
        17 => What::Discarded,
        18 => What::Edited,
        _ => What::Taken,
    };
    Step {
        message: rng.usize(..MESSAGES),
        what,
        stale: rng.u8(..10) == 0,
        former: rng.u8(..10) == 0,
    }
}

/// The outbox, its owner, and what the model knows of each message.
struct Run {
    subject: Subject,
    owner: Worker,
    before: Vec<Lease>,
    messages: Vec<(MessageId, State)>,
    takeovers: usize,
}

impl Run {
    async fn new(factory: &dyn Factory) -> Outcome<Self> {
        let subject = Subject::fresh(factory, 2).await?;
        let owner = subject.worker("w0").await?;
        let ids = subject.enqueue_some(MESSAGES).await?;
        Ok(Self {
            subject,
            owner,
            before: Vec::new(),
            messages: ids.into_iter().map(|id| (id, State::INSERTED)).collect(),
            takeovers: 0,
        })
    }

    async fn step(&mut self, step: Step) -> Outcome {
        let (id, state) = self.messages[step.message];
        let attempt = |ahead: i64| {
            let attempt = (i64::from(state.attempts) + ahead).max(1);
            u32::try_from(attempt).unwrap_or(1)
        };
        let begun = self.subject.now().await?;
        let wait = |wait: u64| Duration::from_millis(wait);
        let (event, verdict) = match step.what {
            What::Taken => return self.take_over().await,
            What::Redriven => (Event::Redriven, None),
            What::Discarded => (Event::Discarded, None),
            What::Edited => (Event::Edited, None),
            What::Counted { ahead } => {
                let attempt = attempt(ahead);
                (Event::Counted { attempt }, Some(Verdict::Counted { attempt }))
            }
            What::Uncounted { ahead } => {
                let attempt = attempt(ahead);
                (Event::Uncounted { attempt }, Some(Verdict::Uncounted { attempt }))
            }
            What::Delivered { ahead } => {
                let attempt = attempt(ahead);
                let verdict = Verdict::Delivered(attempted(attempt, "", ""));
                (Event::Delivered { attempt }, Some(verdict))
            }
            What::Retry { ahead, wait: millis } => {
                let (attempt, wait) = (attempt(ahead), wait(millis));
                let attempted = attempted(attempt, "transient", "503");
                (
                    Event::Retry { attempt, wait },
                    Some(Verdict::Retry { attempted, wait }),
                )
            }
            What::Dead { ahead, reason } => {
                let attempt = ahead.map(attempt);
                (
                    Event::Dead { attempt, reason },
                    Some(dead(attempt, reason, AfterDeath::None)),
                )
            }
            What::PostponedAt { wait: millis } => {
                let until = begun.plus(wait(millis));
                (
                    Event::Postponed { until },
                    Some(Verdict::Postponed(Until::At(until))),
                )
            }
            What::PostponedFor { wait: millis } => {
                let until = begun.plus(wait(millis));
                (
                    Event::Postponed { until },
                    Some(Verdict::Postponed(Until::After(wait(millis)))),
                )
            }
        };
        let passed = match verdict {
            Some(verdict) => self.settle(id, verdict, step).await?,
            None => {
                self.operate(id, state, event).await?;
                false
            }
        };
        let ended = self.subject.now().await?;
        let expected = if passed {
            Err(Refused)
        } else {
            apply(state, event, begun)
        };
        let exact = matches!(step.what, What::PostponedAt { .. });
        let met = self
            .compare(id, state, expected, ended.since(begun), exact)
            .await?;
        self.messages[step.message].1 = met;
        Ok(())
    }

    /// Whether it was told in an epoch, or of a life, that has passed.
    async fn settle(&self, id: MessageId, verdict: Verdict, step: Step) -> Outcome<bool> {
        let record = self.subject.record(id).await?;
        let before = self
            .before
            .iter()
            .find(|lease| lease.shard == record.shard && step.stale);
        let former = step.former && record.redrives > 0;
        let mut settlement = self.owner.settlement(&record, verdict)?;
        if let Some(before) = before {
            settlement.lease = *before;
        }
        if former {
            settlement.redrives -= 1;
        }
        let settled = self.subject.store.settle(&self.owner.id, &[settlement]).await?;
        same!(
            settled.stale.is_empty(),
            before.is_none(),
            "whether the owner's epoch holds"
        );
        Ok(before.is_some() || former)
    }

    async fn operate(&self, id: MessageId, state: State, event: Event) -> Outcome {
        let possible = apply(state, event, Timestamp::default()).is_ok();
        let done = match event {
            Event::Redriven => !self.subject.redrive(&only(id)).await?.is_empty(),
            Event::Discarded => !self.subject.discard(&only(id)).await?.is_empty(),
            _ => {
                let edit = Edit {
                    payload: Some(Payload::from("edited")),
                    ..Edit::default()
                };
                match self.subject.desk.edit(MessageRef::Id(id), &edit, &act()).await {
                    Ok(()) => true,
                    Err(error) if error.kind() == StoreErrorKind::NotFound => false,
                    Err(error) => return Err(error.into()),
                }
            }
        };
        same!(done, possible, "whether {event:?} is possible in {state:?}");
        Ok(())
    }

    /// The store's state, which is the model's but for the times that the database's clock gave.
    async fn compare(
        &self,
        id: MessageId,
        before: State,
        expected: Result<State, Refused>,
        took: Duration,
        exact: bool,
    ) -> Outcome<State> {
        let met = state_of(&self.subject.record(id).await?);
        let refused = expected.is_err();
        let expected = expected.unwrap_or(before);
        let without_time = |state: State| State {
            next_attempt_at: None,
            ..state
        };
        same!(
            without_time(met),
            without_time(expected),
            "the state, after {before:?}"
        );
        let kept = refused || exact || expected.next_attempt_at == before.next_attempt_at;
        match (met.next_attempt_at, expected.next_attempt_at) {
            (met, expected) if met == expected => {}
            (Some(met), Some(soonest)) if !kept => {
                let latest = soonest.plus(took + ROUNDING);
                check!(
                    (soonest..=latest).contains(&met),
                    "the next attempt is at {met}, between {soonest} and {latest}, after {before:?}"
                );
            }
            (met, expected) => {
                check!(
                    false,
                    "the next attempt is at {met:?} instead of {expected:?}, after {before:?}"
                );
            }
        }
        Ok(met)
    }

    async fn take_over(&mut self) -> Outcome {
        self.takeovers += 1;
        self.subject.expire(&self.owner.id).await?;
        let next = self.subject.worker(&format!("w{}", self.takeovers)).await?;
        same!(next.claimed.len(), self.owner.claimed.len(), "shards taken over");
        self.before = self.owner.leases();
        self.owner = next;
        Ok(())
    }
}

fn state_of(record: &Record) -> State {
    State {
        place: match record.status {
            Status::Sent => Place::Sent,
            Status::DeadLettered => Place::Dead,
            Status::Discarded => Place::Discarded,
            Status::FannedOut => Place::FannedOut,
            Status::Pending | Status::Processing | Status::Failed | Status::Parked => Place::Live,
        },
        attempts: record.attempts,
        redrives: record.redrives,
        next_attempt_at: record.next_attempt_at,
        reason: record.dead_letter_reason,
    }
}

/// The steps up to the one that fails, and how it fails.
async fn play(factory: &dyn Factory, steps: &[Step]) -> Outcome<Option<(usize, Failure)>> {
    let mut run = Run::new(factory).await?;
    for (index, step) in steps.iter().enumerate() {
        if let Err(failure) = run.step(*step).await {
            return Ok(Some((index, failure)));
        }
    }
    Ok(None)
}

/// Leaves out what is not needed to fail.
async fn shorten(
    factory: &dyn Factory,
    mut steps: Vec<Step>,
    mut failure: Failure,
) -> Outcome<(Vec<Step>, Failure)> {
    let mut tries = 0;
    let mut index = 0;
    while index < steps.len() && tries < SHORTENINGS {
        tries += 1;
        let mut fewer = steps.clone();
        fewer.remove(index);
        match play(factory, &fewer).await? {
            Some((last, found)) => {
                fewer.truncate(last + 1);
                (steps, failure) = (fewer, found);
            }
            None => index += 1,
        }
    }
    Ok((steps, failure))
}

pub(super) async fn s160_random_histories_agree_with_the_model(factory: &dyn Factory) -> Outcome {
    for seed in 0..HISTORIES {
        let mut rng = Rng::with_seed(seed);
        let mut steps: Vec<Step> = (0..STEPS).map(|_| random_step(&mut rng)).collect();
        if let Some((last, failure)) = play(factory, &steps).await? {
            steps.truncate(last + 1);
            let (steps, failure) = shorten(factory, steps, failure).await?;
            return Err(Failure::new(format!(
                "seed {seed}, shortened to {steps:?}: {failure}"
            )));
        }
    }
    Ok(())
}

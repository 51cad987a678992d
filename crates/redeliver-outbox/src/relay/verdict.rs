//! What becomes of a message after an attempt: pure, so that the relay and its simulator cannot disagree.

use std::time::Duration;

use redeliver::{Class, Decision, Policy, Session};

use crate::{
    DeadReason, Message, Timestamp,
    destination::{LanePolicy, Outcome, Route},
    limits,
    plants::{Plant, planted},
    relay::manners::Tried,
    store::{AfterDeath, Attempted, Verdict},
};

/// The attempt that has just ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub attempt: u32,
    pub took: Duration,
    pub outcome: Outcome,
    /// Whether the message was the head of a parked lane.
    pub headed_parked_lane: bool,
}

pub(super) fn judge(message: &Message, route: &Route, ended: Ended, now: Timestamp, entropy: u64) -> Verdict {
    let attempt = ended.attempt;
    let attempted = |class: &'static str, error: &str| Attempted {
        attempt,
        took: ended.took,
        class,
        error: limits::error_text(error),
        resumes_lane: false,
    };
    let (class, reason) = match ended.outcome {
        Outcome::Delivered => {
            return Verdict::Delivered(Attempted {
                resumes_lane: ended.headed_parked_lane,
                ..attempted("", "")
            });
        }
        Outcome::Reject { reason, .. } if planted(Plant::RejectionRetried) => (Class::Transient, reason),
        Outcome::Ambiguous { .. } if planted(Plant::SilenceIsDelivery) => {
            return Verdict::Delivered(attempted("", ""));
        }
        Outcome::Reject { kind, reason } => {
            return dead(
                message,
                route,
                Some(attempted("permanent", &reason)),
                kind,
                &reason,
            );
        }
        Outcome::Retry { reason, .. } if planted(Plant::RetryAfterIgnored) => (Class::Transient, reason),
        Outcome::Retry { class, reason } => (class, reason),
        Outcome::Unreachable { reason } => (Class::Transient, reason),
        // Never asked: its message is put back, and waits until the destination is enabled.
        Outcome::Disable { reason } => (Class::Transient, reason),
        Outcome::Ambiguous { reason, asked } => (open_class(asked, route.idempotent), reason),
    };
    let attempted = attempted(class_name(class), &reason);
    let policy = policy_for(message, &route.policy);
    let mut session = Session::new(&policy, born(message).moment())
        .resumed(
            attempt.saturating_sub(1),
            Duration::from_millis(message.last_wait_ms),
        )
        .idempotent(route.idempotent);
    match session.on_failure(now.moment(), class, entropy) {
        Decision::Stop(stop) => dead(
            message,
            route,
            Some(attempted),
            DeadReason::from_stop(stop),
            &reason,
        ),
        Decision::Retry { .. }
            if message.key.is_some() && route.lane == LanePolicy::Skip && !planted(Plant::SkipWaits) =>
        {
            dead(message, route, Some(attempted), DeadReason::LaneSkipped, &reason)
        }
        Decision::Retry { after, .. } if expires(message).is_some_and(|end| now.plus(after) >= end) => {
            dead(message, route, Some(attempted), DeadReason::Expired, &reason)
        }
        Decision::Retry { after, .. } => Verdict::Retry {
            attempted,
            wait: after,
        },
    }
}

/// What the record of a message says of an attempt at it.
pub(super) fn tried(message: &Message, route: &Route, attempt: u32) -> Tried {
    debug_assert!(attempt > 0, "the first attempt is number one");
    Tried {
        earlier: attempt.saturating_sub(1),
        waited: Duration::from_millis(message.last_wait_ms),
        last: route.policy.max_attempts.is_some_and(|most| attempt >= most),
    }
}

/// Why the message is not sent at all, if it is not: it is too old, or has been attempted often enough by processes that did not
/// live to tell.
pub(super) fn refuse(message: &Message, route: &Route, now: Timestamp) -> Option<Verdict> {
    too_late(message, route, now).or_else(|| used_up(message, route))
}

/// Of what must not arrive twice, an attempt was begun, and how it ended was not written: it may have arrived.
pub(super) fn unanswered(message: &Message, route: &Route) -> Option<Verdict> {
    if route.idempotent || !message.interrupted || planted(Plant::UnansweredSentAgain) {
        return None;
    }
    let error = format!(
        "the relay ended, or lost its lease, before the answer to attempt {} was recorded",
        message.attempts
    );
    Some(dead(message, route, None, DeadReason::UnknownOutcome, &error))
}

/// It is too old.
pub(super) fn too_late(message: &Message, route: &Route, now: Timestamp) -> Option<Verdict> {
    if let Some(end) = expires(message).filter(|&end| now >= end) {
        let error = format!("it was to be delivered before {end}");
        return Some(dead(message, route, None, DeadReason::Expired, &error));
    }
    let age = policy_for(message, &route.policy)
        .deadline
        .filter(|&longest| now.since(born(message)) > longest);
    if let Some(longest) = age {
        let error = format!("it is older than {}", redeliver::duration::display(longest));
        return Some(dead(message, route, None, DeadReason::Expired, &error));
    }
    None
}

fn used_up(message: &Message, route: &Route) -> Option<Verdict> {
    let most = route
        .policy
        .max_attempts
        .filter(|&most| message.attempts >= most)?;
    let last = message
        .last_error
        .as_deref()
        .unwrap_or("the relay ended before the attempt did");
    let error = format!("all {most} attempts are used up; the last one met: {last}");
    Some(dead(message, route, None, DeadReason::AttemptsExhausted, &error))
}

/// A bug: called delivered without ever having been sent.
pub(super) fn unsent(message: &Message) -> Verdict {
    Verdict::Delivered(Attempted {
        attempt: message.attempts + 1,
        took: Duration::ZERO,
        class: "",
        error: String::new(),
        resumes_lane: false,
    })
}

/// A dead letter, and what its lane does about it.
pub(super) fn dead(
    message: &Message,
    route: &Route,
    attempted: Option<Attempted>,
    reason: DeadReason,
    error: &str,
) -> Verdict {
    let lane = match (&message.key, route.lane) {
        (None, _) => AfterDeath::None,
        // Not a lane: no table could hold its key to park it by.
        (Some(key), _) if key.len() > limits::KEY_LIMIT => AfterDeath::Gap,
        (Some(_), LanePolicy::Park) if !planted(Plant::ParkedLaneGoesOn) => AfterDeath::Park,
        (Some(_), _) => AfterDeath::Gap,
    };
    Verdict::Dead {
        attempted,
        reason,
        error: limits::error_text(error),
        lane,
    }
}

/// Once a person has put a message back, its age does not count against it.
fn expires(message: &Message) -> Option<Timestamp> {
    message
        .expires_at
        .filter(|_| message.redrives == 0 && !planted(Plant::ExpiryIgnored))
}

/// What its age is counted from: it cannot have been sent before.
fn born(message: &Message) -> Timestamp {
    message
        .not_before
        .map_or(message.created_at, |due| due.max(message.created_at))
}

fn policy_for(message: &Message, policy: &Policy) -> Policy {
    let mut policy = *policy;
    policy.deadline = policy.deadline.filter(|_| message.redrives == 0);
    if planted(Plant::OneAttemptTooMany) {
        policy.max_attempts = policy.max_attempts.map(|most| most + 1);
    }
    policy
}

/// The class of what may have arrived, after which the destination asked to come back or not.
pub(super) fn open_class(asked: Option<Duration>, idempotent: bool) -> Class {
    match asked {
        Some(_) if idempotent || planted(Plant::AskingIsRefusing) => Class::Throttled { after: asked },
        _ => Class::Unknown,
    }
}

pub(super) const fn class_name(class: Class) -> &'static str {
    match class {
        Class::Transient => "transient",
        Class::Throttled { .. } => "throttled",
        Class::Permanent => "permanent",
        _ => "unknown",
    }
}

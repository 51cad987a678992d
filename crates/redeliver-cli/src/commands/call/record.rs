//! What each attempt did, told as it happens and kept for the end.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redeliver::{
    Observer, RetryEvent, clock,
    http::{Exchange, RequestBuilder, StatusCode},
};
use redeliver_policy::{Class, Moment, Policy, StopReason, duration::display};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Ended;

/// One attempt.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AttemptRecord {
    pub(crate) attempt: u32,
    started_ms: f64,
    duration_ms: f64,
    status: Option<u16>,
    error: Option<String>,
    /// The wait after it, as it was decided.
    wait_ms: Option<f64>,
    /// What the server asked for.
    retry_after_ms: Option<f64>,
    #[serde(skip)]
    began: Moment,
    #[serde(skip)]
    ended: Moment,
    #[serde(skip)]
    retry_after: Option<Duration>,
}

/// Where what happens is told: in words, a line at a time, and in figures for programs.
pub(crate) type Tell = Box<dyn Fn(&str, Value) + Send + Sync>;

/// The attempts of one call.
pub(crate) struct Record {
    policy: Policy,
    began: Moment,
    tell: Option<Tell>,
    attempts: Mutex<Vec<AttemptRecord>>,
}

/// The attempts that are kept of one call; an unlimited policy may make any number.
const MOST_KEPT: usize = 10_000;

/// The request, with every attempt going into the record.
pub(crate) fn watched(request: RequestBuilder, record: &Arc<Record>) -> RequestBuilder {
    let seen = Arc::clone(record);
    request
        .on_exchange(move |exchange| seen.exchanged(exchange))
        .observe(Arc::clone(record))
}

impl Record {
    pub(crate) fn new(policy: Policy, tell: Option<Tell>) -> Self {
        Self {
            policy,
            began: clock::now(),
            tell,
            attempts: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<AttemptRecord>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The attempts so far.
    pub(crate) fn attempts(&self) -> Vec<AttemptRecord> {
        self.lock().clone()
    }

    /// Time since the call began.
    pub(crate) fn elapsed(&self) -> Duration {
        clock::now().since(self.began)
    }

    /// Waits for which the server had asked, and how many of them were shorter than asked.
    pub(crate) fn asked_waits(&self) -> (usize, usize) {
        let attempts = self.lock();
        let waits = attempts.windows(2).filter_map(|pair| {
            let asked = pair[0].retry_after?;
            Some(pair[1].began.since(pair[0].ended) < asked)
        });
        waits.fold((0, 0), |(all, early), is_early| {
            (all + 1, early + usize::from(is_early))
        })
    }

    fn exchanged(&self, exchange: &Exchange<'_>) {
        let error = match exchange.error {
            Some(error) => Some(error.to_string()),
            None if exchange.cut => Some("cut short".to_owned()),
            None => None,
        };
        let mut attempts = self.lock();
        if attempts.len() >= MOST_KEPT {
            attempts.remove(0);
        }
        attempts.push(AttemptRecord {
            attempt: exchange.attempt,
            started_ms: millis(exchange.began.since(self.began)),
            duration_ms: millis(exchange.took),
            status: exchange.status.map(|status| status.as_u16()),
            error,
            wait_ms: None,
            retry_after_ms: exchange.retry_after.map(millis),
            began: exchange.began,
            ended: exchange.began.plus(exchange.took),
            retry_after: exchange.retry_after,
        });
    }

    /// The last attempt in one line: `attempt 2 of 5: 503 Service Unavailable after 312ms`.
    fn outcome(&self) -> String {
        let attempts = self.lock();
        let Some(last) = attempts.last() else {
            return "no attempt".to_owned();
        };
        let of = self
            .policy
            .max_attempts
            .map_or(String::new(), |most| format!(" of {most}"));
        let took = shown(last.ended.since(last.began));
        let status = last.status.and_then(|status| StatusCode::from_u16(status).ok());
        let outcome = match (&last.error, status) {
            (Some(error), None) if error == "cut short" => "no answer".to_owned(),
            (Some(error), Some(status)) if error == "cut short" => format!("{status}, but no end of it"),
            (Some(error), None) => error.clone(),
            (Some(error), Some(status)) if status.is_success() => format!("{status}, but {error}"),
            (_, Some(status)) => status.to_string(),
            (None, None) => "no answer".to_owned(),
        };
        format!("attempt {}{of}: {outcome} after {took}", last.attempt)
    }

    fn left(&self) -> String {
        match self.policy.deadline {
            Some(deadline) => format!("; {} left", shown(deadline.saturating_sub(self.elapsed()))),
            None => String::new(),
        }
    }

    /// How much longer the server's wait was than what is allowed, and which flag allows it.
    fn asked(&self, reason: StopReason) -> String {
        let asked = self.lock().last().and_then(|last| last.retry_after);
        match (reason, asked) {
            (StopReason::RetryAfter, Some(asked)) => {
                let most = shown(self.policy.retry_after_max);
                format!(
                    " (Retry-After asks for {}, --retry-after-max is {most})",
                    shown(asked)
                )
            }
            _ => String::new(),
        }
    }

    /// The last attempt, for programs.
    fn figures(&self, event: &str) -> Value {
        let mut figures = self.lock().last().map_or_else(|| json!({}), |last| json!(last));
        figures["event"] = json!(event);
        figures
    }

    /// Tells how the call ended.
    pub(crate) fn tell_end(&self, ended: &Ended) {
        let Some(tell) = &self.tell else { return };
        match ended {
            Ended::Answered(_) => tell(&self.outcome(), self.figures("answered")),
            Ended::GaveUp(gave_up) if gave_up.attempts == 0 => {
                let words = format!("gave up without an attempt: {}", gave_up.reason);
                tell(&words, json!({ "event": "gave_up", "reason": gave_up.reason }));
            }
            Ended::GaveUp(gave_up) => {
                let (outcome, reason) = (self.outcome(), gave_up.reason);
                let mut figures = self.figures("gave_up");
                figures["reason"] = json!(reason);
                tell(
                    &format!("{outcome}; gave up: {reason}{}", self.asked(reason)),
                    figures,
                );
            }
            Ended::Cancelled => {
                tell(
                    &format!("cancelled after {}", shown(self.elapsed())),
                    self.figures("cancelled"),
                );
            }
        }
    }
}

impl Observer for Record {
    fn on_retry(&self, event: &RetryEvent<'_>) {
        if let Some(last) = self.lock().last_mut() {
            last.wait_ms = Some(millis(event.delay));
        }
        let Some(tell) = &self.tell else { return };
        let why = match event.class {
            Class::Throttled { after: Some(asked) } if !asked.is_zero() => {
                format!("Retry-After asks for {}", shown(asked))
            }
            _ => format!(
                "{} backoff, jitter {}",
                self.policy.backoff.as_str(),
                self.policy.jitter
            ),
        };
        let (outcome, wait, left) = (self.outcome(), shown(event.delay), self.left());
        tell(
            &format!("{outcome}; waits {wait} ({why}){left}"),
            self.figures("retry"),
        );
    }

    fn on_hold(&self, attempt: u32, wait: Duration) {
        if let Some(tell) = &self.tell {
            let figures = json!({ "event": "hold", "attempt": attempt, "wait_ms": millis(wait) });
            let (wait, left) = (shown(wait), self.left());
            let why = "the host asked another call to stay away";
            tell(&format!("attempt {attempt}: waits {wait} ({why}){left}"), figures);
        }
    }
}

/// Milliseconds, with three digits behind the point.
pub(crate) fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Whole milliseconds, or microseconds below one: nobody reads the rest.
pub(crate) fn shown(duration: Duration) -> String {
    let whole = match u64::try_from(duration.as_millis()).unwrap_or(u64::MAX) {
        0 => Duration::from_micros(u64::from(duration.subsec_micros())),
        millis => Duration::from_millis(millis),
    };
    display(whole).to_string()
}

//! How one destination fares.

use std::time::Duration;

use redeliver_outbox::{
    Timestamp,
    desk::Figures,
    live::{LiveFigures, LiveState},
};
use serde_json::json;

use super::{ERROR, Event};
use crate::{commands::demo::stage::briefly, readable};

/// After so many retries it is told how far apart they are.
const SPREAD: u64 = 10;

/// How one destination has fared.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Course {
    /// How it is.
    pub(in super::super) state: LiveState,
    /// How it has been, each once and in order.
    pub(in super::super) states: Vec<LiveState>,
    pub(in super::super) attempts: u64,
    /// Attempts that were not the message's first.
    pub(in super::super) again: u64,
    retries: u64,
    shortest_wait: Option<Duration>,
    longest_wait: Duration,
    /// Since it came back, until nothing of the outage is left.
    catching_up: bool,
}

impl Course {
    pub(super) const fn begin(&mut self, attempt: u32) {
        self.attempts += 1;
        if attempt > 1 {
            self.again += 1;
        }
    }

    /// An attempt failed, and the policy says when it is made again.
    pub(super) fn retry(&mut self, name: &str, attempt: u32, error: &str, wait: Duration) -> Event {
        self.retries += 1;
        self.longest_wait = self.longest_wait.max(wait);
        let shortest = self.shortest_wait.map_or(wait, |shortest| shortest.min(wait));
        self.shortest_wait = Some(shortest);
        let figures = json!({ "attempt": attempt, "error": error, "wait_ms": millis(wait) });
        if self.retries != SPREAD {
            let (met, again) = (briefly(error), readable::duration(wait));
            let words = format!("attempt {attempt} met {met}: made again in {again}");
            return Event::new("retry", name, words, figures);
        }
        let (from, to) = (
            readable::duration(shortest),
            readable::duration(self.longest_wait),
        );
        let words =
            format!("{SPREAD} retries so far, after waits of {from} to {to}: spread out, not in step");
        Event::new("retries_spread", name, words, figures)
    }

    /// An attempt failed, and the destination says when it is made again.
    pub(super) fn throttled(name: &str, attempt: u32, error: &str, wait: Duration) -> Event {
        let (met, asked) = (briefly(error), readable::duration(wait));
        Event::new(
            "throttled",
            name,
            format!(
                "attempt {attempt} met {met}: all that goes there waits as it asks; this one for {asked}"
            ),
            json!({ "attempt": attempt, "error": error, "wait_ms": millis(wait) }),
        )
    }

    /// How it is by the workers' last beat, and whether that is news.
    pub(super) fn follow(
        &mut self,
        name: &str,
        live: &LiveFigures,
        figures: Figures,
        now: Timestamp,
    ) -> Option<Event> {
        let before = std::mem::replace(&mut self.state, live.state);
        if !self.states.contains(&live.state) {
            self.states.push(live.state);
        }
        let backlog = figures.due_now + figures.put_away;
        let until = live.until.map(|until| readable::duration(until.since(now)));
        let facts = json!({ "state": live.state.as_str(), "backlog": backlog, "detail": live.detail });
        let event = |event, words: String| Some(Event::new(event, name, words, facts.clone()));
        if is_down(live.state) && !is_down(before) {
            self.catching_up = false;
            let why = briefly(&live.detail);
            let see = until.map_or(String::new(), |until| format!("; in {until} one is sent to see"));
            let words = format!("breaker open ({why}): its messages are put away, no attempt counted{see}");
            return event("breaker_opened", words);
        }
        if is_held(live.state) && !is_held(before) {
            let why = readable::line(&live.detail, ERROR);
            return event("held", format!("{}: {why}", live.state));
        }
        if is_down(before) && !is_down(live.state) && !is_held(live.state) {
            self.catching_up = true;
            let ramp = until.filter(|_| live.state == LiveState::Ramping);
            let ramp = ramp.map_or(String::new(), |until| format!(", on a ramp over {until}"));
            return event("recovered", format!("back: its {backlog} messages go out{ramp}"));
        }
        if is_held(before) && !is_held(live.state) {
            return event("resumed", "goes on".to_owned());
        }
        if self.catching_up && live.state == LiveState::Well && backlog <= 1 {
            self.catching_up = false;
            return event("caught_up", "caught up: nothing of the outage is left".to_owned());
        }
        None
    }
}

const fn is_down(state: LiveState) -> bool {
    matches!(state, LiveState::Open | LiveState::Probing)
}

const fn is_held(state: LiveState) -> bool {
    matches!(state, LiveState::Paused | LiveState::Disabled)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

//! What happened to a message, and what comes next, in the order of time.

use redeliver_outbox::{
    Timestamp,
    desk::{AttemptRecord, AuditRecord, Detail},
    state::Status,
};

use super::words::When;
use crate::readable;

/// One thing that happened, or will.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    time: Timestamp,
    pub(super) at: When,
    pub(super) tone: &'static str,
    pub(super) sign: &'static str,
    pub(super) title: String,
    /// What a stranger said of it: an error, a reason.
    pub(super) said: String,
    /// Small facts: how long it took, who did it.
    pub(super) facts: Vec<String>,
    /// How long after the one before.
    pub(super) waited: String,
}

struct Teller {
    now: Timestamp,
    moments: Vec<Moment>,
}

impl Teller {
    fn tell(
        &mut self,
        time: Timestamp,
        tone: &'static str,
        sign: &'static str,
        title: impl Into<String>,
    ) -> &mut Moment {
        self.moments.push(Moment {
            time,
            at: When::of(time, self.now),
            tone,
            sign,
            title: title.into(),
            said: String::new(),
            facts: Vec::new(),
            waited: String::new(),
        });
        let last = self.moments.len() - 1;
        &mut self.moments[last]
    }

    fn attempt(&mut self, attempt: &AttemptRecord) {
        let interrupted = attempt.class == "interrupted";
        let title = match interrupted {
            true => format!("Attempt {} was interrupted", attempt.attempt),
            false => format!("Attempt {} failed", attempt.attempt),
        };
        let moment = self.tell(attempt.at, "warn", if interrupted { "?" } else { "↻" }, title);
        moment.said = readable::line(&attempt.error, 2_000);
        moment.facts.push(readable::line(&attempt.class, 40));
        moment.facts.extend(
            attempt
                .took
                .map(|took| format!("took {}", readable::duration(took))),
        );
        moment
            .facts
            .push(format!("worker {}", readable::line(&attempt.worker, 60)));
    }

    fn act(&mut self, act: &AuditRecord) {
        let title = match act.action.as_str() {
            "redrive" => "Put back".to_owned(),
            "discard" => "Given up".to_owned(),
            "edit" => "Edited".to_owned(),
            "import" => "Imported".to_owned(),
            other => readable::line(other, 40),
        };
        let moment = self.tell(act.at, "act", "✎", title);
        moment.said = readable::line(&act.why, 600);
        moment.facts.push(format!("by {}", readable::line(&act.who, 80)));
    }
}

pub(super) fn of(detail: &Detail, now: Timestamp) -> Vec<Moment> {
    let record = &detail.record;
    let mut teller = Teller {
        now,
        moments: Vec::new(),
    };
    teller.tell(record.created_at, "calm", "●", "Inserted");
    for attempt in &detail.attempts {
        teller.attempt(attempt);
    }
    for act in &detail.audit {
        teller.act(act);
    }
    if let Some(time) = record.dead_lettered_at {
        let moment = teller.tell(time, "bad", "✕", "Quarantined as a dead letter");
        moment
            .facts
            .extend(record.dead_letter_reason.map(|reason| reason.to_string()));
    }
    if let Some(time) = record.fanned_out_at {
        teller.tell(time, "good", "⇉", "Fanned out");
    }
    if let Some(time) = record.sent_at {
        let title = format!("Arrived on attempt {}", record.attempts.max(1));
        let moment = teller.tell(time, "good", "✓", title);
        let took = detail
            .took
            .map(|took| format!("took {}", readable::duration(took)));
        moment.facts.extend(took);
    }
    let live = matches!(
        record.status,
        Status::Pending | Status::Processing | Status::Failed | Status::Parked
    );
    if let Some(time) = record.next_attempt_at.filter(|_| live) {
        let title = format!("Attempt {} is due", record.attempts.saturating_add(1));
        teller.tell(time, "next", "→", title);
    }
    if let Some(time) = record.expires_at.filter(|_| live) {
        teller.tell(time, "next", "⌛", "Too late for it");
    }
    ordered(teller.moments)
}

fn ordered(mut moments: Vec<Moment>) -> Vec<Moment> {
    moments.sort_by_key(|moment| moment.time);
    for place in 1..moments.len() {
        let waited = moments[place].time.since(moments[place - 1].time);
        moments[place].waited = readable::duration(waited);
    }
    moments
}

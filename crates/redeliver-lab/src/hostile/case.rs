//! What is known of one trial: messages, hostile rows, arrivals, faults and the tables at the end.

use std::collections::BTreeMap;

pub(super) use crate::history::{Answer, Micros, RelayRun, Ticket};

/// Hostile rows have tickets from here on, so that a ticket says which kind it is.
pub(super) const FIRST_HOSTILE: Ticket = 1_000_000;

/// One trial as plain data; the checkers need nothing else.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    /// How long a silent relay keeps its shards.
    pub(super) lease: Micros,
    pub(super) messages: BTreeMap<Ticket, Honest>,
    pub(super) hostile: BTreeMap<Ticket, Hostile>,
    /// In the order in which they came.
    pub(super) arrivals: Vec<Arrival>,
    pub(super) faults: Vec<Fault>,
    /// The view `redeliver_messages` at the end.
    pub(super) rows: Vec<Row>,
}

/// How a transaction ended, as far as its producer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commit {
    Open,
    Committed,
    RolledBack,
    /// The answer to the commit was lost: both are allowed.
    Unknown,
}

/// A message or an event that a producer wrote as the documentation says.
#[derive(Clone, Debug)]
pub(super) struct Honest {
    pub(super) commit: Commit,
    pub(super) began_at: Micros,
    pub(super) ended_at: Micros,
    /// Where it is to arrive; an event has several. Empty for an event without a route.
    pub(super) destinations: Vec<&'static str>,
    pub(super) key: Option<String>,
    pub(super) payload: Vec<u8>,
    /// It must not arrive before this.
    pub(super) due_at: Micros,
    pub(super) fate: Fate,
}

/// How an honest message is meant to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Delivered,
    /// A dead letter for this reason.
    Dead(&'static str),
}

/// A row that no honest producer writes.
#[derive(Clone, Debug)]
pub(super) struct Hostile {
    pub(super) commit: Commit,
    pub(super) began_at: Micros,
    pub(super) ended_at: Micros,
    /// Its hostile columns, for people.
    pub(super) what: String,
    pub(super) due: Due,
}

/// Whether a hostile row may be sent within the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Now,
    /// Its times are not a producer's to write: the relay may send it or wait.
    Either,
    /// A producer scheduled it for a time that does not come.
    Never,
}

/// One request of a relay.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) at: Micros,
    pub(super) answered_at: Micros,
    /// Which message; none if nothing in the request says so.
    pub(super) ticket: Option<Ticket>,
    pub(super) destination: String,
    pub(super) id: String,
    pub(super) attempt: u32,
    pub(super) relay: RelayRun,
    pub(super) answer: Answer,
    /// Whether the payload is what the producer wrote.
    pub(super) intact: bool,
}

/// Something that was done to relays, tables or servers, or befell the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    /// The run concerned; all of them if none.
    pub(super) relay: Option<RelayRun>,
    pub(super) from: Micros,
    pub(super) until: Micros,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    /// SIGKILL.
    Kill,
    /// The server crashed, recovered or was restarted.
    Recovery,
    /// A constraint or trigger refused statements.
    Refusal,
    /// A change of a table held its lock.
    Locked,
    /// Tables were replaced by a copy that was begun at this time.
    Restore { copied: Micros },
    /// The tables were replaced under running relays, which may take a while to notice.
    Switch,
    /// Numbers were set back: later rows may have lower numbers.
    NumbersReset,
    /// The rows by which relays hold their shards were deleted.
    Eviction,
    /// The machine ran nothing for a good part of a lease.
    Stall,
}

impl FaultKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Recovery => "recovery",
            Self::Refusal => "refusal",
            Self::Locked => "table lock",
            Self::Restore { .. } => "restore",
            Self::Switch => "switch",
            Self::NumbersReset => "number reset",
            Self::Eviction => "eviction",
            Self::Stall => "stall",
        }
    }
}

/// A row of the view.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) ticket: Option<Ticket>,
    pub(super) number: i64,
    pub(super) destination: String,
    pub(super) status: String,
    pub(super) reason: Option<String>,
}

impl Row {
    pub(super) fn is_live(&self) -> bool {
        !matches!(
            self.status.as_str(),
            "sent" | "dead_lettered" | "discarded" | "fanned_out"
        )
    }

    pub(super) fn is_dead(&self) -> bool {
        matches!(self.status.as_str(), "dead_lettered" | "discarded")
    }
}

/// The destination that must not get the same message twice.
pub(super) const ONCE: &str = "once";
/// The destination whose lanes stop behind a dead letter.
pub(super) const PARKING: &str = "parking";

impl Case {
    /// Whether a live row may stay live until an operator acts.
    pub(super) fn may_stay(&self, row: &Row) -> bool {
        let Some(ticket) = row.ticket else { return false };
        let parked = row.status == "parked" && row.destination == PARKING;
        if let Some(hostile) = self.hostile.get(&ticket) {
            return hostile.due != Due::Now || parked;
        }
        parked && (self.is_behind_a_dead_letter(ticket) || self.came_back_into_a_parked_lane(ticket))
    }

    /// Whether a copy may have brought a message back that was taken before, into a lane that stands still for a later one by now.
    fn came_back_into_a_parked_lane(&self, ticket: Ticket) -> bool {
        let Some(message) = self.messages.get(&ticket).filter(|message| message.key.is_some()) else {
            return false;
        };
        let is_copy = |fault: &Fault| {
            matches!(fault.kind, FaultKind::Restore { .. }) && fault.until >= message.began_at
        };
        let was_taken = |arrival: &Arrival| arrival.ticket == Some(ticket) && arrival.answer.is_taken();
        let later = self.messages.range(ticket..).skip(1);
        self.faults.iter().any(is_copy)
            && self.arrivals.iter().any(was_taken)
            && later
                .filter(|(_, later)| later.key == message.key && later.destinations.contains(&PARKING))
                .any(|(_, later)| later.commit != Commit::RolledBack && later.fate != Fate::Delivered)
    }

    /// Whether an earlier message of its lane at the parking destination is meant to be a dead letter.
    pub(super) fn is_behind_a_dead_letter(&self, ticket: Ticket) -> bool {
        let Some(key) = self
            .messages
            .get(&ticket)
            .and_then(|message| message.key.as_ref())
        else {
            return false;
        };
        self.messages.range(..ticket).any(|(_, earlier)| {
            earlier.key.as_ref() == Some(key)
                && earlier.destinations.contains(&PARKING)
                && earlier.commit != Commit::RolledBack
                && earlier.fate != Fate::Delivered
        })
    }

    /// What happened to a message, one line each, in order.
    pub(super) fn story(&self, ticket: Ticket) -> Vec<String> {
        let mut lines: Vec<(Micros, String)> = Vec::new();
        if let Some(message) = self.messages.get(&ticket) {
            lines.push((
                message.began_at,
                format!(
                    "inserted for {:?}, key {:?}, to be {:?}, due at {}",
                    message.destinations, message.key, message.fate, message.due_at
                ),
            ));
            lines.push((message.ended_at, format!("transaction {:?}", message.commit)));
        }
        if let Some(hostile) = self.hostile.get(&ticket) {
            lines.push((hostile.began_at, format!("hostile row: {}", hostile.what)));
            lines.push((hostile.ended_at, format!("transaction {:?}", hostile.commit)));
        }
        for arrival in self
            .arrivals
            .iter()
            .filter(|arrival| arrival.ticket == Some(ticket))
        {
            lines.push((
                arrival.at,
                format!(
                    "arrived at {} from run {} as attempt {}, id {}: {:?} at {}",
                    arrival.destination,
                    arrival.relay,
                    arrival.attempt,
                    arrival.id,
                    arrival.answer,
                    arrival.answered_at
                ),
            ));
        }
        let (first, last) = (
            lines.iter().map(|(at, _)| *at).min().unwrap_or(0),
            lines.iter().map(|(at, _)| *at).max().unwrap_or(0),
        );
        for fault in &self.faults {
            if fault.until >= first && fault.from <= last.saturating_add(self.lease) {
                let run = fault
                    .relay
                    .map(|run| format!(" of run {run}"))
                    .unwrap_or_default();
                let until = match fault.until {
                    Micros::MAX => String::new(),
                    until => format!(" until {until}"),
                };
                lines.push((fault.from, format!("-- {}{run}{until}", fault.kind.as_str())));
            }
        }
        lines.sort();
        let mut lines: Vec<String> = lines
            .into_iter()
            .map(|(at, line)| format!("{at:>9} µs  {line}"))
            .collect();
        for row in self.rows.iter().filter(|row| row.ticket == Some(ticket)) {
            let reason = row
                .reason
                .as_deref()
                .map(|reason| format!(", {reason}"))
                .unwrap_or_default();
            lines.push(format!(
                "   at the end  number {} for {:?}: {}{reason}",
                row.number, row.destination, row.status
            ));
        }
        lines
    }
}

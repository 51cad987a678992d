//! What happened, in order, with its time. The checkers read it, and so does a person when one of them objects.

use std::{
    collections::{BTreeSet, hash_map::DefaultHasher},
    fmt,
    hash::{Hash, Hasher as _},
};

use redeliver_outbox::store::Lease;

/// One run of one relay. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ProcessId(pub(super) u32);

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "relay-{}", self.0)
    }
}

/// What a destination said, or what became of a message, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Delivered,
    Retry,
    Throttled,
    Reject,
    Ambiguous,
    /// As ambiguous, and it asked to come back.
    Open,
    Gone,
    Dead,
    Postponed,
    Counted,
    Uncounted,
    FannedOut,
}

/// Something that happened.
#[derive(Clone, Debug, Hash)]
pub(super) enum Event {
    Committed {
        number: i64,
        lane: String,
    },
    RolledBack {
        messages: usize,
    },
    Started(ProcessId),
    Crashed {
        process: ProcessId,
        why: &'static str,
    },
    Paused {
        process: ProcessId,
        millis: u64,
    },
    Resumed(ProcessId),
    AskedToStop(ProcessId),
    Stopped {
        process: ProcessId,
        clean: bool,
        abandoned: usize,
    },
    ClockStepped {
        millis: i64,
    },
    Outage {
        process: ProcessId,
        millis: u64,
    },
    Trouble {
        process: ProcessId,
        call: &'static str,
        what: &'static str,
    },
    Slow {
        process: ProcessId,
        call: &'static str,
        millis: u64,
    },
    Owned {
        process: ProcessId,
        lease: LeaseSeen,
        clean: bool,
    },
    Released {
        process: ProcessId,
        lease: LeaseSeen,
        clean: bool,
    },
    Lost {
        process: ProcessId,
        lease: LeaseSeen,
    },
    Sending {
        process: ProcessId,
        number: i64,
        attempt: u32,
        lease: LeaseSeen,
    },
    Arrived {
        number: i64,
        attempt: u32,
        process: ProcessId,
        taken: bool,
        answer: Option<Kind>,
    },
    Ended {
        process: ProcessId,
        number: i64,
        attempt: u32,
        outcome: Kind,
    },
    Wrote {
        process: ProcessId,
        number: i64,
        verdict: Kind,
        stale: bool,
    },
    Redriven {
        number: i64,
    },
    Discarded {
        number: i64,
    },
    Edited {
        number: i64,
    },
    Held {
        destination: String,
    },
    LetGo {
        destination: String,
    },
    LaneParked {
        destination: String,
        key: String,
    },
    LaneResumed {
        destination: String,
        key: String,
        without: Option<i64>,
    },
    Calm,
}

/// A lease, as a key of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LeaseSeen {
    pub(super) shard: u16,
    pub(super) epoch: i64,
}

impl From<Lease> for LeaseSeen {
    fn from(lease: Lease) -> Self {
        Self {
            shard: lease.shard,
            epoch: lease.epoch,
        }
    }
}

impl fmt::Display for LeaseSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} in epoch {}", self.shard, self.epoch)
    }
}

impl Event {
    fn number(&self) -> Option<i64> {
        match self {
            Self::Committed { number, .. }
            | Self::Sending { number, .. }
            | Self::Arrived { number, .. }
            | Self::Ended { number, .. }
            | Self::Wrote { number, .. }
            | Self::Redriven { number }
            | Self::Discarded { number }
            | Self::Edited { number } => Some(*number),
            _ => None,
        }
    }

    fn process(&self) -> Option<ProcessId> {
        match self {
            Self::Started(process)
            | Self::Resumed(process)
            | Self::AskedToStop(process)
            | Self::Crashed { process, .. }
            | Self::Paused { process, .. }
            | Self::Stopped { process, .. }
            | Self::Outage { process, .. }
            | Self::Trouble { process, .. }
            | Self::Slow { process, .. }
            | Self::Owned { process, .. }
            | Self::Released { process, .. }
            | Self::Lost { process, .. }
            | Self::Sending { process, .. }
            | Self::Arrived { process, .. }
            | Self::Ended { process, .. }
            | Self::Wrote { process, .. } => Some(*process),
            _ => None,
        }
    }

    fn lease(&self) -> Option<LeaseSeen> {
        match self {
            Self::Owned { lease, .. } | Self::Released { lease, .. } | Self::Lost { lease, .. } => {
                Some(*lease)
            }
            _ => None,
        }
    }

    const fn ends_or_stalls(&self) -> bool {
        matches!(
            self,
            Self::Started(_)
                | Self::Crashed { .. }
                | Self::Paused { .. }
                | Self::Resumed(_)
                | Self::AskedToStop(_)
                | Self::Stopped { .. }
                | Self::Outage { .. }
        )
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Committed { number, lane } => write!(f, "message {number} is committed ({lane})"),
            Self::RolledBack { messages } => {
                write!(f, "a transaction with {messages} messages is rolled back")
            }
            Self::Started(process) => write!(f, "{process} starts"),
            Self::Crashed { process, why } => write!(f, "{process} crashes: {why}"),
            Self::Paused { process, millis } => write!(f, "{process} is not scheduled for {millis} ms"),
            Self::Resumed(process) => write!(f, "{process} runs again"),
            Self::AskedToStop(process) => write!(f, "{process} is asked to stop"),
            Self::Stopped {
                process,
                clean,
                abandoned,
            } => {
                write!(f, "{process} has stopped, clean: {clean}, abandoned: {abandoned}")
            }
            Self::ClockStepped { millis } => write!(f, "the database's clock is set by {millis} ms"),
            Self::Outage { process, millis } => {
                write!(f, "{process} cannot reach the database for {millis} ms")
            }
            Self::Trouble { process, call, what } => write!(f, "{process}: {call}: {what}"),
            Self::Slow {
                process,
                call,
                millis,
            } => write!(f, "{process}: {call} takes {millis} ms more"),
            Self::Owned {
                process,
                lease,
                clean,
            } => {
                let left = if *clean { "left clean" } else { "left by a crash" };
                write!(f, "{process} owns {lease}, {left}")
            }
            Self::Released {
                process,
                lease,
                clean,
            } => {
                let how = if *clean { "clean" } else { "not clean" };
                write!(f, "{process} gives back {lease}, {how}")
            }
            Self::Lost { process, lease } => write!(f, "{process} has lost {lease}"),
            Self::Sending {
                process,
                number,
                attempt,
                lease,
            } => {
                write!(
                    f,
                    "{process} sends message {number}, attempt {attempt}, as owner of {lease}"
                )
            }
            Self::Arrived {
                number,
                attempt,
                process,
                taken,
                answer,
            } => {
                let what = if *taken {
                    "arrives and is taken"
                } else {
                    "arrives and is not taken"
                };
                write!(
                    f,
                    "message {number} {what} (attempt {attempt} of {process}); answer: "
                )?;
                match answer {
                    Some(answer) => write!(f, "{answer:?}"),
                    None => f.write_str("none"),
                }
            }
            Self::Ended {
                process,
                number,
                attempt,
                outcome,
            } => {
                write!(
                    f,
                    "{process} hears of message {number}, attempt {attempt}: {outcome:?}"
                )
            }
            Self::Wrote {
                process,
                number,
                verdict,
                stale,
            } => {
                let how = if *stale {
                    "refused: the epoch has passed"
                } else {
                    "written"
                };
                write!(f, "{process} writes {verdict:?} for message {number}: {how}")
            }
            Self::Redriven { number } => write!(f, "an operator redrives message {number}"),
            Self::Discarded { number } => write!(f, "an operator discards message {number}"),
            Self::Edited { number } => write!(f, "an operator edits message {number}"),
            Self::Held { destination } => write!(f, "an operator pauses {destination}"),
            Self::LetGo { destination } => write!(f, "an operator lets {destination} go on"),
            Self::LaneParked { destination, key } => {
                write!(f, "an operator parks the lane {destination} / {key}")
            }
            Self::LaneResumed {
                destination,
                key,
                without,
            } => {
                write!(f, "an operator lets the lane {destination} / {key} go on")?;
                match without {
                    Some(number) => write!(f, " without message {number}"),
                    None => Ok(()),
                }
            }
            Self::Calm => f.write_str("the storm is over: no more faults"),
        }
    }
}

/// Everything that happened, with the milliseconds since the beginning.
#[derive(Debug, Default)]
pub(super) struct History {
    entries: Vec<(u64, Event)>,
    hasher: DefaultHasher,
}

impl History {
    pub(super) fn push(&mut self, at: u64, event: Event) {
        at.hash(&mut self.hasher);
        event.hash(&mut self.hasher);
        self.entries.push((at, event));
    }

    /// The same for the same history, on every machine and in every run.
    pub(super) fn fingerprint(&self) -> u64 {
        self.hasher.finish()
    }

    pub(super) fn entries(&self) -> &[(u64, Event)] {
        &self.entries
    }

    /// What happened to these messages, to the relays that had them, and to a shard; or the last things that happened at all.
    pub(super) fn of(&self, numbers: &[i64], shard: Option<u16>) -> Vec<String> {
        const LAST: usize = 60;
        if numbers.is_empty() {
            let from = self.entries.len().saturating_sub(LAST);
            return self.entries[from..].iter().map(line).collect();
        }
        let about = |event: &Event| event.number().is_some_and(|number| numbers.contains(&number));
        let processes: BTreeSet<ProcessId> = self
            .entries
            .iter()
            .filter(|(_, event)| about(event))
            .filter_map(|(_, event)| event.process())
            .collect();
        let concerns = |event: &Event| {
            about(event)
                || event.lease().is_some_and(|lease| Some(lease.shard) == shard)
                || (event.ends_or_stalls()
                    && event
                        .process()
                        .is_some_and(|process| processes.contains(&process)))
                || matches!(
                    event,
                    Event::ClockStepped { .. }
                        | Event::Calm
                        | Event::LaneParked { .. }
                        | Event::LaneResumed { .. }
                )
        };
        let mut shown: Vec<String> = Vec::new();
        let mut last: Option<(String, usize)> = None;
        for entry in self.entries.iter().filter(|(_, event)| concerns(event)) {
            let text = entry.1.to_string();
            match &mut last {
                Some((before, again)) if *before == text => *again += 1,
                _ => {
                    shown.extend(last.take().and_then(repeated));
                    shown.push(line(entry));
                    last = Some((text, 0));
                }
            }
        }
        shown.extend(last.take().and_then(repeated));
        if shown.len() > 3 * LAST {
            let left_out = shown.len() - 3 * LAST;
            shown.splice(
                LAST..LAST + left_out,
                [format!("             … {left_out} lines …")],
            );
        }
        shown
    }
}

fn repeated((_, again): (String, usize)) -> Option<String> {
    (again > 0).then(|| format!("             … the same {again} more times"))
}

fn line((at, event): &(u64, Event)) -> String {
    format!("{:>9} s  {event}", Seconds(*at))
}

struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:03}", self.0 / 1000, self.0 % 1000))
    }
}

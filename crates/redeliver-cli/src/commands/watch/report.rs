use std::{fmt::Display, time::Duration};

use redeliver::{
    clock,
    stream::{Connection, Disconnection},
};
use redeliver_policy::{Moment, duration::display};
use serde_json::{Value, json};

use super::{follow::End, item::Item, ledger::Ledger};
use crate::output;

/// Tells what happens as it happens, and adds it up.
pub(super) struct Report {
    as_json: bool,
    quiet: bool,
    began: Moment,
    items: u64,
    connections: u64,
    is_up: bool,
    /// Losses of a connection that had been up, and the time until the next was.
    gaps: u64,
    failures: u64,
    down: Duration,
    place: Option<String>,
    ledger: Ledger,
}

impl Report {
    pub(super) fn new(as_json: bool, quiet: bool) -> Self {
        Self {
            as_json,
            quiet,
            began: clock::now(),
            items: 0,
            connections: 0,
            is_up: false,
            gaps: 0,
            failures: 0,
            down: Duration::ZERO,
            place: None,
            ledger: Ledger::default(),
        }
    }

    pub(super) const fn items(&self) -> u64 {
        self.items
    }

    /// Prints an item; whether anybody reads it.
    pub(super) fn item(&mut self, item: &Item) -> bool {
        self.items += 1;
        self.ledger.item(item.place.as_deref());
        self.place.clone_from(&item.place);
        let line = if self.as_json {
            let mut line = json!({ "item": item.json() });
            for (name, value) in [("id", &item.place), ("type", &item.event_type)] {
                if let Some(value) = value {
                    line[name] = json!(value);
                }
            }
            line.to_string()
        } else {
            item.line()
        };
        output::item(&line)
    }

    pub(super) fn connected(&mut self, connection: Connection) {
        self.connections += 1;
        self.is_up = true;
        self.ledger.connected();
        let first = self.connections == 1;
        if !first {
            self.down = self.down.saturating_add(connection.down_for);
        }
        let what = if first { "connected" } else { "reconnected" };
        let down_for = short(connection.down_for);
        self.tell(
            || json!({ "connected": { "attempt": connection.number, "down_ms": millis(connection.down_for) } }),
            || format!("{what} after {down_for}"),
        );
    }

    pub(super) fn lost<E: Display>(&mut self, lost: &Disconnection<E>) {
        self.count_loss();
        let place = self.place.as_deref();
        self.tell(
            || {
                json!({ "gap": {
                    "at": clock::timestamp(clock::wall()),
                    "reason": lost.cause.to_string(),
                    "class": lost.class.as_str(),
                    "attempt": lost.number,
                    "failures": lost.failures,
                    "up_ms": lost.up_for.map(millis),
                    "items": lost.items,
                    "resume_after": place,
                    "wait_ms": millis(lost.wait),
                } })
            },
            || {
                let what = match lost.up_for {
                    Some(up_for) => format!("lost after {}, {}", short(up_for), counted(lost.items, "item")),
                    None => format!("not connected, {}", counted(lost.failures.into(), "failure")),
                };
                let from = place.map_or("from the beginning".to_owned(), |place| {
                    format!("after {place:?}")
                });
                format!("{what}: {}; next in {}, {from}", lost.cause, short(lost.wait))
            },
        );
    }

    /// The last connection was lost too, or could not be made.
    pub(super) const fn gave_up(&mut self) {
        self.count_loss();
    }

    const fn count_loss(&mut self) {
        if self.is_up {
            self.gaps += 1;
        } else {
            self.failures += 1;
        }
        self.is_up = false;
    }

    /// The figures of the whole watch.
    pub(super) fn summary(&self, end: &End) {
        let elapsed = clock::now().since(self.began);
        let (repeated, lost) = (self.ledger.repeated(), self.ledger.lost());
        self.tell(
            || {
                json!({ "summary": {
                    "items": self.items,
                    "connections": self.connections,
                    "gaps": self.gaps,
                    "failed_connections": self.failures,
                    "down_ms": millis(self.down),
                    "repeated": repeated,
                    "lost": lost,
                    "elapsed_ms": millis(elapsed),
                    "end": end.as_str(),
                } })
            },
            || {
                let known = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
                format!(
                    "{} in {} over {}; {}, {}, {} without a connection; {} repeated, {} lost",
                    counted(self.items, "item"),
                    short(elapsed),
                    counted(self.connections, "connection"),
                    counted(self.gaps, "gap"),
                    counted(self.failures, "failed connection"),
                    short(self.down),
                    known(repeated),
                    known(lost),
                )
            },
        );
    }

    fn tell(&self, as_json: impl FnOnce() -> Value, words: impl FnOnce() -> String) {
        match (self.quiet, self.as_json) {
            (true, _) => {}
            (false, true) => output::json(&as_json()),
            (false, false) => {
                let stamp = clock::timestamp(clock::wall());
                let time = stamp.split('T').nth(1).unwrap_or(&stamp);
                output::note(&format!("{time}  {}", words()));
            }
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Microseconds below ten milliseconds, milliseconds from there on: nobody reads the rest.
fn short(duration: Duration) -> String {
    let shown = if duration < Duration::from_millis(10) {
        Duration::from_micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    } else {
        Duration::from_millis(millis(duration))
    };
    display(shown).to_string()
}

//! Rows that no honest producer writes: every writable column, in hostile sizes, encodings and values.

mod values;

use std::collections::BTreeMap;

use fastrand::Rng;

use super::{
    case::{Due, PARKING, Ticket},
    configuration::{LIMITED, STEADY, TICKET},
    database::Family,
};

/// A row for `redeliver_outbox`, as SQL literals.
#[derive(Debug)]
pub(super) struct HostileRow {
    columns: BTreeMap<&'static str, String>,
    pub(super) what: String,
    pub(super) due: Due,
}

const COLUMNS: [&str; 20] = [
    "attempts",
    "content_type",
    "created_at",
    "destination",
    "expires_at",
    "headers",
    "lane",
    "last_attempt_at",
    "last_error",
    "last_wait_ms",
    "next_attempt_at",
    "not_before",
    "number",
    "payload",
    "payload_binary",
    "redrives",
    "salt",
    "shard",
    "topic",
    "traceparent",
];
/// Never together: one of each pair tells whose row it is, or when it is due.
const APART: [(&str, &str); 4] = [
    ("headers", "payload"),
    ("headers", "payload_binary"),
    ("payload", "payload_binary"),
    ("next_attempt_at", "not_before"),
];

impl HostileRow {
    pub(super) fn draw(family: Family, rng: &mut Rng, ticket: Ticket) -> Self {
        let mut draft = Draft::new(family, rng, ticket);
        let count = match draft.rng.u32(0..10) {
            0..6 => 1,
            6..9 => 2,
            _ => 3,
        };
        let mut chosen: Vec<&'static str> = Vec::new();
        while chosen.len() < count {
            let column = COLUMNS[draft.rng.usize(..COLUMNS.len())];
            let apart = APART.iter().any(|&(one, other)| {
                column == one && chosen.contains(&other) || column == other && chosen.contains(&one)
            });
            if !apart && !chosen.contains(&column) {
                chosen.push(column);
            }
        }
        for column in chosen {
            draft.attack(column);
        }
        draft.finish()
    }

    /// A row like any other but for its number.
    pub(super) fn numbered(family: Family, rng: &mut Rng, ticket: Ticket, number: &str) -> Self {
        let mut draft = Draft::new(family, rng, ticket);
        draft.columns.remove("lane");
        draft.set("number", number.to_owned(), number);
        draft.finish()
    }

    /// A row with a payload of this size.
    pub(super) fn large(family: Family, rng: &mut Rng, ticket: Ticket, bytes: usize) -> Self {
        let mut draft = Draft::new(family, rng, ticket);
        let payload = draft.filled(bytes);
        draft.set("payload", payload, &format!("{bytes} bytes"));
        draft.finish()
    }

    pub(super) fn insert(&self) -> String {
        let names: Vec<&str> = self.columns.keys().copied().collect();
        format!(
            "INSERT INTO redeliver_outbox ({}) VALUES {}",
            names.join(", "),
            self.values()
        )
    }

    /// Its values, for an insert of several rows with the same columns.
    pub(super) fn values(&self) -> String {
        let values: Vec<&str> = self.columns.values().map(String::as_str).collect();
        format!("({})", values.join(", "))
    }
}

struct Draft<'a> {
    family: Family,
    rng: &'a mut Rng,
    ticket: Ticket,
    columns: BTreeMap<&'static str, String>,
    what: Vec<String>,
    due: Due,
}

impl<'a> Draft<'a> {
    fn new(family: Family, rng: &'a mut Rng, ticket: Ticket) -> Self {
        let destination = match rng.u32(0..5) {
            0..2 => PARKING,
            2 => LIMITED,
            _ => STEADY,
        };
        let mut columns = BTreeMap::new();
        columns.insert("destination", family.text(destination.as_bytes()));
        columns.insert(
            "headers",
            family.text(format!(r#"{{"{TICKET}":"{ticket}"}}"#).as_bytes()),
        );
        columns.insert(
            "payload",
            family.text(format!(r#"{{"ticket":{ticket}}}"#).as_bytes()),
        );
        if rng.bool() {
            columns.insert("lane", family.text(format!("hostile-{ticket}").as_bytes()));
        }
        Self {
            family,
            rng,
            ticket,
            columns,
            what: vec![format!("destination {destination}")],
            due: Due::Now,
        }
    }

    fn finish(self) -> HostileRow {
        HostileRow {
            columns: self.columns,
            what: self.what.join(", "),
            due: self.due,
        }
    }

    fn set(&mut self, column: &'static str, sql: String, label: &str) {
        self.what.push(format!("{column} {label}"));
        self.columns.insert(column, sql);
    }

    fn choose<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.usize(..of.len())]
    }

    fn attack(&mut self, column: &'static str) {
        match column {
            "destination" | "lane" | "content_type" | "traceparent" | "last_error" => {
                let (sql, label) = self.text();
                self.set(column, sql, &label);
            }
            "topic" => self.topic(),
            "payload" => self.payload(),
            "payload_binary" => self.binary(),
            "headers" => self.headers(),
            "created_at" | "expires_at" | "last_attempt_at" | "not_before" | "next_attempt_at" => {
                self.time(column);
            }
            "number" => self.number(),
            "shard" => {
                let value = self.choose(&["-1", "0", "63", "64", "32767", "32768", "NULL"]);
                self.set(column, value.to_owned(), value);
            }
            "attempts" | "redrives" => {
                let value = self.choose(&["1", "3", "60", "2147483647", "2147483648", "-1", "NULL"]);
                self.set(column, value.to_owned(), value);
                if column == "attempts" {
                    let now = self.family.time_in(0);
                    self.columns.entry("last_attempt_at").or_insert(now);
                }
            }
            _ => {
                let value = self.choose(&[
                    "0",
                    "1",
                    "-1",
                    "4611686018427387903",
                    "9223372036854775807",
                    "-9223372036854775807",
                    "9223372036854775808",
                ]);
                self.set(column, value.to_owned(), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_attacked_and_every_row_is_identifiable() {
        for family in [Family::Sqlite, Family::Postgres, Family::Mysql] {
            let mut rng = Rng::with_seed(1);
            let mut seen = std::collections::BTreeSet::new();
            for ticket in 0..400 {
                let row = HostileRow::draw(family, &mut rng, ticket);
                seen.extend(row.columns.keys().copied());
                let front = family.text(format!(r#"{{"{TICKET}":"{ticket}"}}"#).as_bytes());
                let body = family.text(format!(r#"{{"ticket":{ticket}}}"#).as_bytes());
                let identifiable = row.columns["headers"] == front || row.columns["payload"] == body;
                assert!(identifiable, "{}", row.what);
            }
            assert!(COLUMNS.iter().all(|column| seen.contains(column)), "{seen:?}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_rows() {
        let draw = |seed| {
            let mut rng = Rng::with_seed(seed);
            let rows = (0..20).map(|ticket| HostileRow::draw(Family::Postgres, &mut rng, ticket).insert());
            rows.collect::<Vec<_>>()
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}

use std::fmt::Write as _;

use crate::{
    Timestamp,
    desk::{Filter, MessageRef, Page},
    state::Status,
};

/// What a database writes in its own way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// The placeholder of the n-th parameter, from 1.
    pub placeholder: fn(usize) -> String,
    /// The function of (haystack, needle) that says where the needle is, from 1.
    pub position: &'static str,
    /// Two texts that are the same to the last byte: a plain comparison may take trailing blanks for nothing.
    pub same: fn(&str, &str) -> String,
}

/// Where `=` is exact.
#[cfg(any(feature = "sqlite", feature = "postgres", test))]
pub(crate) fn equal(left: &str, right: &str) -> String {
    format!("{left} = {right}")
}

/// A value for a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Integer(i64),
    Text(String),
    Time(Timestamp),
}

/// A condition on the view `redeliver_messages`, and its parameters.
#[derive(Debug)]
pub(crate) struct Conditions {
    dialect: Dialect,
    pub sql: String,
    pub values: Vec<Value>,
}

impl Conditions {
    /// What the filter asks for; `1 = 1` if it asks for nothing.
    pub(crate) fn of(filter: &Filter, dialect: Dialect) -> Self {
        let mut conditions = Self {
            dialect,
            sql: "1 = 1".to_owned(),
            values: Vec::new(),
        };
        conditions.messages(&filter.messages);
        conditions.any(
            "status",
            filter
                .statuses
                .iter()
                .map(|status| Value::Text(status.to_string())),
        );
        let dead = |status: &Status| matches!(status, Status::DeadLettered | Status::Discarded);
        if !filter.statuses.is_empty() && filter.statuses.iter().all(dead) {
            // No planner knows which statuses a live row can have; that it has no such time it knows, and does not look at one.
            conditions.sql.push_str(" AND dead_lettered_at IS NOT NULL");
        }
        let texts = [
            ("destination", &filter.destination),
            ("topic", &filter.topic),
            ("lane", &filter.key),
        ];
        for (column, text) in texts {
            if let Some(text) = text {
                let place = conditions.place(Value::Text(text.clone()));
                let same = (dialect.same)(column, &place);
                let _ = write!(conditions.sql, " AND {same}");
            }
        }
        if let Some(reason) = filter.reason {
            conditions.compare("dead_letter_reason", "=", Value::Text(reason.to_string()));
        }
        if let Some(error) = &filter.error {
            let place = conditions.place(Value::Text(error.to_ascii_lowercase()));
            let position = dialect.position;
            let _ = write!(
                conditions.sql,
                " AND {position}(LOWER(COALESCE(last_error, '')), {place}) > 0"
            );
        }
        if let Some(from) = filter.created_from {
            conditions.compare("created_at", ">=", Value::Time(from));
        }
        if let Some(before) = filter.created_before {
            conditions.compare("created_at", "<", Value::Time(before));
        }
        if let Some(attempts) = filter.attempts_from {
            conditions.compare("attempts", ">=", Value::Integer(i64::from(attempts)));
        }
        conditions
    }

    /// The same, cut to a page, with its order and limit.
    pub(crate) fn page(mut self, page: Page) -> Self {
        let (order, beyond) = if page.newest_first {
            ("DESC", "<")
        } else {
            ("ASC", ">")
        };
        if let Some(after) = page.after {
            self.compare("number", beyond, Value::Integer(after));
        }
        let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
        let place = self.place(Value::Integer(limit));
        let _ = write!(self.sql, " ORDER BY number {order} LIMIT {place}");
        self
    }

    fn messages(&mut self, messages: &[MessageRef]) {
        if messages.is_empty() {
            return;
        }
        self.sql.push_str(" AND (1 = 0");
        for message in messages {
            match message {
                MessageRef::Number(number) => {
                    let place = self.place(Value::Integer(*number));
                    let _ = write!(self.sql, " OR number = {place}");
                }
                // The row of this number may be another message's after a restore from a backup: the whole id has to fit.
                MessageRef::Id(id) => {
                    let (number, text) = (
                        self.place(Value::Integer(id.number())),
                        self.place(Value::Text(id.to_string())),
                    );
                    let _ = write!(self.sql, " OR (number = {number} AND id = {text})");
                }
            }
        }
        self.sql.push(')');
    }

    fn any(&mut self, column: &str, values: impl Iterator<Item = Value>) {
        let places: Vec<String> = values.map(|value| self.place(value)).collect();
        if !places.is_empty() {
            let _ = write!(self.sql, " AND {column} IN ({})", places.join(", "));
        }
    }

    fn compare(&mut self, column: &str, operator: &str, value: Value) {
        let place = self.place(value);
        let _ = write!(self.sql, " AND {column} {operator} {place}");
    }

    fn place(&mut self, value: Value) -> String {
        self.values.push(value);
        (self.dialect.placeholder)(self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERED: Dialect = Dialect {
        placeholder: |n| format!("${n}"),
        position: "strpos",
        same: equal,
    };

    #[test]
    fn a_filter_becomes_placeholders_and_never_text() {
        let filter = Filter {
            statuses: vec![Status::Failed, Status::DeadLettered],
            error: Some("O'Brien%".to_owned()),
            messages: vec![MessageRef::Number(7)],
            ..Filter::default()
        };
        let page = Page {
            after: Some(9),
            limit: 20,
            newest_first: true,
        };
        let conditions = Conditions::of(&filter, NUMBERED).page(page);
        let expected = "1 = 1 AND (1 = 0 OR number = $1) AND status IN ($2, $3) AND strpos(LOWER(COALESCE(last_error, '')), $4) > 0 \
                        AND number < $5 ORDER BY number DESC LIMIT $6";
        assert_eq!(conditions.sql, expected);
        assert_eq!(conditions.values.len(), 6);
        assert_eq!(conditions.values[3], Value::Text("o'brien%".to_owned()));
    }

    #[test]
    fn dead_letters_are_not_looked_for_among_the_living() {
        let with = |statuses: &[Status]| {
            let filter = Filter {
                statuses: statuses.to_vec(),
                ..Filter::default()
            };
            Conditions::of(&filter, NUMBERED).sql
        };
        let only_dead = "1 = 1 AND status IN ($1) AND dead_lettered_at IS NOT NULL";
        assert_eq!(with(&[Status::DeadLettered]), only_dead);
        assert_eq!(
            with(&[Status::DeadLettered, Status::Sent]),
            "1 = 1 AND status IN ($1, $2)"
        );
        assert_eq!(with(&[]), "1 = 1");
    }
}

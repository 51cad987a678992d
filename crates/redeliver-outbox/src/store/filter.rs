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
    /// The numbers of live messages `{beyond}` the parameter, the next one at least, as the select list, the tables and the condition say. Those
    /// that are not `{nearer}` than what is elsewhere need not be looked at.
    pub live: &'static str,
}

/// Where the hot table is found by number.
#[cfg(any(feature = "sqlite", feature = "mysql", test))]
pub(crate) const LIVE_BY_NUMBER: &str =
    "SELECT {nearest}(number) AS number FROM redeliver_outbox WHERE number {beyond} {place}";

/// Where `=` is exact.
#[cfg(any(feature = "sqlite", feature = "postgres", test))]
pub(crate) fn equal(left: &str, right: &str) -> String {
    format!("{left} = {right}")
}

/// The parts of the view, as its column `place` calls them.
pub(crate) const PLACES: [&str; 4] = ["live", "dead", "sent", "event"];

/// The parts that can hold what the filter asks for.
pub(crate) fn places(filter: &Filter) -> Vec<&'static str> {
    let only_dead = filter.reason.is_some() || filter.issue.is_some() || filter.died_by.is_some();
    let asked = |place: &str| {
        let asked =
            filter.statuses.is_empty() || filter.statuses.iter().any(|status| place_of(*status) == place);
        asked && (place == "dead" || !only_dead)
    };
    PLACES.into_iter().filter(|place| asked(place)).collect()
}

/// The statement that finds the number behind the one of the first parameter, wherever the filter can find something; none if that is
/// nowhere.
pub(crate) fn nearest(filter: &Filter, newest_first: bool, dialect: Dialect) -> Option<String> {
    let (nearest, beyond, order) = if newest_first {
        ("MAX", "<", "DESC")
    } else {
        ("MIN", ">", "ASC")
    };
    let (live, others): (Vec<&str>, Vec<&str>) =
        places(filter).into_iter().partition(|place| *place == "live");
    let mut parts: Vec<String> = others
        .into_iter()
        .map(|place| {
            let table = if place == "event" { "events" } else { place };
            format!("SELECT {{nearest}}(number) AS number FROM redeliver_{table} WHERE number {{beyond}} {{place}}")
        })
        .collect();
    let nearer = match (parts.is_empty(), newest_first) {
        (true, _) => String::new(),
        (false, true) => format!(" AND number >= COALESCE(({}), 0)", first_of(&parts)),
        (false, false) => format!(" AND number <= COALESCE(({}), {})", first_of(&parts), i64::MAX),
    };
    parts.extend(live.iter().map(|_| dialect.live.replace("{nearer}", &nearer)));
    if parts.is_empty() {
        return None;
    }
    let statement = first_of(&parts)
        .replace("{nearest}", nearest)
        .replace("{beyond}", beyond)
        .replace("{order}", order)
        .replace("{place}", &(dialect.placeholder)(1));
    Some(statement)
}

fn first_of(parts: &[String]) -> String {
    format!(
        "SELECT {{nearest}}(number) FROM ({}) AS parts",
        parts.join(" UNION ALL ")
    )
}

/// Where the search for the nearest number begins, if nothing was before.
pub(crate) const fn behind(behind: Option<i64>, newest_first: bool) -> i64 {
    match behind {
        Some(number) => number,
        None if newest_first => i64::MAX,
        None => -1,
    }
}

const fn place_of(status: Status) -> &'static str {
    match status {
        Status::Pending | Status::Processing | Status::Failed | Status::Parked => "live",
        Status::DeadLettered | Status::Discarded => "dead",
        Status::Sent => "sent",
        Status::FannedOut => "event",
    }
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
        conditions.places(filter);
        conditions.any(
            "status",
            filter
                .statuses
                .iter()
                .map(|status| Value::Text(status.to_string())),
        );
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
        if let Some(issue) = filter.issue {
            conditions.compare("fingerprint", "=", Value::Text(issue.column()));
            // In the words of the index of issues, which is about these alone.
            if filter.statuses == [Status::DeadLettered] {
                conditions.sql.push_str(" AND discarded_at IS NULL");
            }
        }
        if let Some(error) = &filter.error {
            let contained = conditions.contained("last_error", error);
            let _ = write!(conditions.sql, " AND {contained}");
        }
        if let Some(text) = &filter.text {
            conditions.text(text, filter.searched.as_deref());
        }
        if let Some(from) = filter.created_from {
            conditions.compare("created_at", ">=", Value::Time(from));
        }
        if let Some(before) = filter.created_before {
            conditions.compare("created_at", "<", Value::Time(before));
        }
        if let Some(by) = filter.died_by {
            // Servers know more of a time than its milliseconds.
            let behind = Timestamp::from_millis(by.as_millis().saturating_add(1));
            conditions.compare("dead_lettered_at", "<", Value::Time(behind));
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
        if let Some(until) = page.until {
            let within = if page.newest_first { ">=" } else { "<=" };
            self.compare("number", within, Value::Integer(until));
        }
        let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
        let place = self.place(Value::Integer(limit));
        let _ = write!(self.sql, " ORDER BY number {order} LIMIT {place}");
        self
    }

    /// The tables that can hold what the filter asks for, as literals: then a database does not even look into the others.
    fn places(&mut self, filter: &Filter) {
        let places = places(filter);
        if places.len() < PLACES.len() {
            let places: Vec<String> = places.iter().map(|place| format!("'{place}'")).collect();
            let places = if places.is_empty() {
                "''".to_owned()
            } else {
                places.join(", ")
            };
            let _ = write!(self.sql, " AND place IN ({places})");
        }
    }

    /// The numbers first and by themselves: they are what an index finds.
    fn messages(&mut self, messages: &[MessageRef]) {
        if messages.is_empty() {
            return;
        }
        let number = |message: &MessageRef| match message {
            MessageRef::Number(number) => *number,
            MessageRef::Id(id) => id.number(),
        };
        self.any("number", messages.iter().map(number).map(Value::Integer));
        // The row of this number may be another message's after a restore from a backup: the whole id has to fit.
        let (mut numbers, mut ids) = (Vec::new(), Vec::new());
        for message in messages {
            match message {
                MessageRef::Number(number) => numbers.push(Value::Integer(*number)),
                MessageRef::Id(id) => ids.push(Value::Text(id.to_string())),
            }
        }
        if ids.is_empty() {
            return;
        }
        let ids = self.places_of(ids);
        let fits = if numbers.is_empty() {
            format!("id IN ({ids})")
        } else {
            format!("(id IN ({ids}) OR number IN ({}))", self.places_of(numbers))
        };
        let _ = write!(self.sql, " AND {fits}");
    }

    /// By the id or the number as well, so that a search for one finds it among all that only mention it.
    fn text(&mut self, text: &str, searched: Option<&[String]>) {
        let mut alternatives: Vec<String> = Vec::new();
        match text.trim().parse() {
            Ok(MessageRef::Number(number)) => {
                alternatives.push(format!("number = {}", self.place(Value::Integer(number))));
            }
            Ok(MessageRef::Id(id)) => {
                let number = self.place(Value::Integer(id.number()));
                let text = self.place(Value::Text(id.to_string()));
                alternatives.push(format!("(number = {number} AND id = {text})"));
            }
            Err(_) => {}
        }
        for column in ["lane", "destination", "topic", "last_error", "traceparent"] {
            alternatives.push(self.contained(column, text));
        }
        alternatives.extend(self.payload(text, searched));
        let _ = write!(self.sql, " AND ({})", alternatives.join(" OR "));
    }

    /// In payloads to these destinations only, if not in all of them.
    fn payload(&mut self, text: &str, searched: Option<&[String]>) -> Option<String> {
        let Some(names) = searched else {
            return Some(self.contained("payload", text));
        };
        if names.is_empty() {
            return None;
        }
        let contained = self.contained("payload", text);
        let mut one_of = Vec::with_capacity(names.len());
        for name in names {
            let place = self.place(Value::Text(name.clone()));
            one_of.push((self.dialect.same)("destination", &place));
        }
        Some(format!("({contained} AND ({}))", one_of.join(" OR ")))
    }

    /// The database makes both small, so that it has one idea of what that is.
    fn contained(&mut self, column: &str, text: &str) -> String {
        let place = self.place(Value::Text(text.to_owned()));
        let position = self.dialect.position;
        format!("{position}(LOWER(COALESCE({column}, '')), LOWER({place})) > 0")
    }

    fn any(&mut self, column: &str, values: impl Iterator<Item = Value>) {
        let places = self.places_of(values);
        if !places.is_empty() {
            let _ = write!(self.sql, " AND {column} IN ({places})");
        }
    }

    fn places_of(&mut self, values: impl IntoIterator<Item = Value>) -> String {
        let places: Vec<String> = values.into_iter().map(|value| self.place(value)).collect();
        places.join(", ")
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
    use crate::MessageId;

    const NUMBERED: Dialect = Dialect {
        placeholder: |n| format!("${n}"),
        position: "strpos",
        same: equal,
        live: LIVE_BY_NUMBER,
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
            until: Some(3),
            after: Some(9),
            limit: 20,
            newest_first: true,
        };
        let conditions = Conditions::of(&filter, NUMBERED).page(page);
        let expected = "1 = 1 AND number IN ($1) AND place IN ('live', 'dead') AND status IN ($2, $3) AND strpos(LOWER(COALESCE(last_error, '')), LOWER($4)) > 0 \
                        AND number < $5 AND number >= $6 ORDER BY number DESC LIMIT $7";
        assert_eq!(conditions.sql, expected);
        assert_eq!(conditions.values.len(), 7);
        assert_eq!(conditions.values[3], Value::Text("O'Brien%".to_owned()));
    }

    #[test]
    fn messages_are_found_by_number_and_known_by_id() {
        let id = MessageId::new(9, 4);
        let sql = |messages: Vec<MessageRef>| {
            let filter = Filter {
                messages,
                ..Filter::default()
            };
            let conditions = Conditions::of(&filter, NUMBERED);
            (conditions.sql, conditions.values.len())
        };
        assert_eq!(
            sql(vec![MessageRef::Id(id)]),
            ("1 = 1 AND number IN ($1) AND id IN ($2)".to_owned(), 2)
        );
        assert_eq!(
            sql(vec![MessageRef::Number(7), MessageRef::Id(id)]),
            (
                "1 = 1 AND number IN ($1, $2) AND (id IN ($3) OR number IN ($4))".to_owned(),
                4
            )
        );
    }
}

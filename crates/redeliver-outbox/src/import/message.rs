//! A foreign row becomes a message, or it is said why not.

use super::{
    Cell, Holds, Mapping, Row,
    cell::quoted,
    mapping::{PayloadSource, Source},
};
use crate::{NewMessage, Payload, Timestamp, limits};

/// Whole numbers from here on are milliseconds since 1970; smaller ones are seconds. It is March 1973, or the year 5138.
const MILLISECONDS_FROM: i128 = 100_000_000_000;

/// The row of an import as a message, under the key by which it is never inserted twice.
///
/// # Errors
///
/// What is wrong with the row, in words that follow "the row …".
pub(super) fn message(
    import: &str,
    mapping: &Mapping,
    holds: impl Fn(usize) -> Holds,
    row: &Row,
) -> Result<NewMessage, String> {
    let read = Read {
        columns: &mapping.columns(),
        row,
    };
    let destination = read.text("destination", mapping.destination.as_ref())?;
    let mut message =
        NewMessage::to(destination.unwrap_or_default()).payload(read.payload(&mapping.payload)?);
    if let Some(topic) = read.text("topic", mapping.topic.as_ref())? {
        message = message.topic(topic);
    }
    if let Some(key) = read.identity(mapping.key.as_ref()) {
        message = message.key(key);
    }
    if let Some(content_type) = read.text("content_type", mapping.content_type.as_ref())? {
        message = message.content_type(content_type);
    }
    if let Some(traceparent) = read.text("traceparent", mapping.traceparent.as_ref())? {
        message = message.traceparent(traceparent);
    }
    if let Some(headers) = read.text("headers", mapping.headers.as_ref())? {
        for (name, value) in headers_of(&headers)? {
            message = message.header(name, value);
        }
    }
    if let Some(time) = read.time("not_before", mapping.not_before.as_ref())? {
        message = message.not_before(time);
    }
    if let Some(time) = read.time("expires_at", mapping.expires_at.as_ref())? {
        message = message.expires_at(time);
    }
    let message = message.deduplication_key(read.known_by(import, mapping, holds)?);
    message.validate().map_err(|invalid| invalid.to_string())?;
    Ok(message)
}

struct Read<'a> {
    columns: &'a [&'a str],
    row: &'a Row,
}

impl Read<'_> {
    fn cell(&self, column: &str) -> &Cell {
        let at = self.columns.iter().position(|name| *name == column);
        at.and_then(|at| self.row.cells.get(at)).unwrap_or(&Cell::Null)
    }

    /// The text of a field; an empty one is none.
    fn text(&self, field: &str, source: Option<&Source>) -> Result<Option<String>, String> {
        let text = match source {
            None => None,
            Some(Source::Fixed(text)) => Some(text.clone()),
            Some(Source::Column(column)) => self
                .cell(column)
                .text()
                .map_err(|wrong| format!("has a {field} (column {column}) that {wrong}"))?,
        };
        Ok(text.filter(|text| !text.is_empty()))
    }

    fn identity(&self, source: Option<&Source>) -> Option<String> {
        let identity = match source? {
            Source::Fixed(text) => Some(text.clone()),
            Source::Column(column) => self.cell(column).identity(),
        };
        identity.filter(|text| !text.is_empty())
    }

    fn time(&self, field: &str, source: Option<&Source>) -> Result<Option<Timestamp>, String> {
        if let Some(Source::Column(column)) = source
            && let Cell::Integer(number) = self.cell(column)
        {
            let millis = match *number >= MILLISECONDS_FROM {
                true => *number,
                false => number.saturating_mul(1000),
            };
            return Ok(Some(Timestamp::from_millis(
                i64::try_from(millis).unwrap_or(i64::MAX),
            )));
        }
        let Some(text) = self.text(field, source)? else {
            return Ok(None);
        };
        let time = text.parse();
        time.map(Some).map_err(|wrong| {
            let shown = redeliver::address::printable(&text);
            format!("has a {field} that {wrong}: {shown:?}")
        })
    }

    /// The key by which the row is known again: the exact value of a column, whatever people see of it.
    fn known_by(
        &self,
        import: &str,
        mapping: &Mapping,
        holds: impl Fn(usize) -> Holds,
    ) -> Result<String, String> {
        let prefix = format!("import:{import}:");
        let column = mapping.deduplicate.as_ref().unwrap_or(&mapping.order);
        let at = self.columns.iter().position(|name| name == column);
        let cell = at.and_then(|at| self.row.cells.get(at)).unwrap_or(&Cell::Null);
        let room = limits::DEDUPLICATION_KEY_LIMIT.saturating_sub(prefix.len());
        // In the order there is one that is empty, at most.
        let says_nothing = mapping.deduplicate.is_some() && cell.is_empty();
        at.filter(|_| !says_nothing)
            .and_then(|at| holds(at).known_by(cell, room))
            .map(|value| format!("{prefix}{value}"))
            .ok_or_else(|| format!("has nothing in the column {column}, by which it would be known again"))
    }

    fn payload(&self, source: &PayloadSource) -> Result<Payload, String> {
        match source {
            PayloadSource::Column(column) => match self.cell(column) {
                Cell::Null => Err(format!("has no payload: its column {column} is NULL")),
                Cell::Bytes(bytes) => Ok(Payload::from_bytes(bytes.clone())),
                other => Ok(Payload::Text(other.text()?.unwrap_or_default())),
            },
            PayloadSource::Columns(columns) => {
                let fields: Vec<String> = columns
                    .iter()
                    .map(|column| format!("{}:{}", quoted(column), self.cell(column).json()))
                    .collect();
                Ok(Payload::Text(format!("{{{}}}", fields.join(","))))
            }
        }
    }
}

/// The names and values of a JSON object.
pub(crate) fn headers_of(text: &str) -> Result<Vec<(String, String)>, String> {
    use serde_json::Value;
    const RULE: &str = "has headers that are no JSON object of names and values";
    let object: serde_json::Map<String, Value> = serde_json::from_str(text).map_err(|_| RULE)?;
    let value = |(name, value)| match value {
        Value::Null => None,
        Value::String(text) => Some(Ok((name, text))),
        Value::Bool(_) | Value::Number(_) => Some(Ok((name, value.to_string()))),
        Value::Array(_) | Value::Object(_) => Some(Err(RULE.to_owned())),
    };
    object.into_iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::mapping::TableName, *};
    use crate::import::Position;

    fn column(name: &str) -> Option<Source> {
        Some(Source::Column(name.to_owned()))
    }

    fn mapping() -> Mapping {
        Mapping {
            table: TableName {
                schema: None,
                name: "outbox".to_owned(),
            },
            order: "id".to_owned(),
            condition: None,
            destination: Some(Source::Fixed("billing".to_owned())),
            topic: column("type"),
            key: column("aggregate"),
            payload: PayloadSource::Column("payload".to_owned()),
            content_type: None,
            headers: column("headers"),
            traceparent: None,
            not_before: column("due"),
            expires_at: None,
            deduplicate: None,
        }
    }

    /// A row with these in the columns type, aggregate, headers, due and payload.
    fn row(cells: [Cell; 5]) -> Row {
        let mut all = vec![Cell::Integer(7)];
        all.extend(cells);
        Row {
            position: Position::Integer(7),
            cells: all,
        }
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    /// The order column holds whole numbers, and the others text.
    const fn holds(column: usize) -> Holds {
        match column {
            0 => Holds::Integers,
            _ => Holds::Texts,
        }
    }

    #[test]
    fn every_field_comes_from_its_column() {
        let made = message(
            "shop",
            &mapping(),
            holds,
            &row([
                text("orders.paid"),
                Cell::Bytes(vec![0xab, 0x01]),
                Cell::Json(r#"{"x-tenant":"acme","x-retry":3,"x-none":null}"#.to_owned()),
                Cell::Integer(1_800_000_000),
                text("{}"),
            ]),
        );
        let expected = NewMessage::to("billing")
            .topic("orders.paid")
            .key("ab01")
            .payload("{}")
            .header("x-retry", "3")
            .header("x-tenant", "acme")
            .not_before(Timestamp::from_millis(1_800_000_000_000))
            .deduplication_key("import:shop:7");
        assert_eq!(made, Ok(expected));
    }

    #[test]
    fn what_is_null_or_empty_is_not_there() {
        let made = message(
            "shop",
            &mapping(),
            holds,
            &row([Cell::Null, text(""), Cell::Null, Cell::Null, text("x")]),
        );
        let expected = NewMessage::to("billing")
            .payload("x")
            .deduplication_key("import:shop:7");
        assert_eq!(made, Ok(expected));
    }

    #[test]
    fn what_is_wrong_with_a_row_is_said() {
        let fine = || [text("a"), text("k"), Cell::Null, Cell::Null, text("{}")];
        let with = |at: usize, cell: Cell| {
            let mut cells = fine();
            cells[at] = cell;
            message("shop", &mapping(), holds, &row(cells)).unwrap_err()
        };
        for (at, cell, words) in [
            (4, Cell::Null, "has no payload: its column payload is NULL"),
            (0, text("a..b"), "the message's topic has an empty word"),
            (
                0,
                Cell::Bytes(vec![0xff]),
                "has a topic (column type) that holds bytes",
            ),
            (2, text("[1]"), "has headers that are no JSON object"),
            (2, text(r#"{"a":{}}"#), "has headers that are no JSON object"),
            (3, text("infinity"), "has a not_before that is no time"),
            (3, Cell::Integer(-5), "delay or not_before is out of range"),
        ] {
            let said = with(at, cell);
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn columns_become_one_object_in_their_order() {
        let mapping = Mapping {
            payload: PayloadSource::Columns(vec!["type".to_owned(), "id".to_owned()]),
            deduplicate: Some("aggregate".to_owned()),
            ..mapping()
        };
        let cells = vec![Cell::Integer(7), text("a"), text("k"), Cell::Null, Cell::Null];
        let row = Row {
            position: Position::Integer(7),
            cells,
        };
        let made = message("shop", &mapping, holds, &row).unwrap();
        assert_eq!(made.payload, Payload::from(r#"{"type":"a","id":7}"#));
        assert_eq!(made.deduplication_key.as_deref(), Some("import:shop:k"));
    }
    #[test]
    fn values_that_look_alike_are_different_rows() {
        let long = "x".repeat(600);
        let cells = vec![
            text("a b"),
            text("a  b"),
            text("7"),
            Cell::Integer(7),
            Cell::Number("7".to_owned()),
            text("61"),
            Cell::Bytes(b"a".to_vec()),
            text(&long),
            text(&format!("{long}y")),
        ];
        for deduplicate in [None, Some("id".to_owned())] {
            let mapping = Mapping {
                deduplicate,
                payload: PayloadSource::Columns(vec!["id".to_owned()]),
                topic: None,
                ..mapping()
            };
            let key = |cell: &Cell| {
                let row = Row {
                    position: Position::Integer(0),
                    cells: vec![cell.clone()],
                };
                let made = message("shop", &mapping, |_| Holds::Anything, &row).unwrap();
                made.deduplication_key.unwrap()
            };
            let keys: Vec<String> = cells.iter().map(key).collect();
            let different: std::collections::BTreeSet<&String> = keys.iter().collect();
            assert_eq!(different.len(), cells.len(), "{keys:?}");
            assert_eq!(keys[3], "import:shop:7");
        }
    }

    #[test]
    fn a_row_without_what_it_would_be_known_by_is_refused() {
        let mapping = Mapping {
            deduplicate: Some("aggregate".to_owned()),
            ..mapping()
        };
        for cell in [Cell::Null, text(""), Cell::Bytes(Vec::new())] {
            let row = row([Cell::Null, cell, Cell::Null, Cell::Null, text("{}")]);
            let refused = message("shop", &mapping, holds, &row).unwrap_err();
            assert!(
                refused.contains("has nothing in the column aggregate"),
                "{refused}"
            );
        }
    }
}

//! What there is in a foreign database, and whether the mapping fits it.

use super::{Mapping, Position};
use crate::store::{Result, StoreError, StoreErrorKind};

/// A column as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// What the database calls its type.
    pub(super) type_name: String,
    pub(super) kind: Kind,
    pub(super) nullable: bool,
}

/// What kind of values a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Json,
    Bytes,
    Integer,
    Number,
    Boolean,
    Uuid,
    Time,
    /// Anything that is read as the text that the database makes of it.
    Other,
    /// Whatever the value says: SQLite's columns hold anything.
    Any,
}

impl Kind {
    /// Whether rows can be read by it, forward.
    const fn has_order(self) -> bool {
        matches!(
            self,
            Self::Text | Self::Bytes | Self::Integer | Self::Uuid | Self::Any
        )
    }
}

/// The columns that the mapping reads, in its order, as the table has them.
pub(super) fn fit(
    import: &str,
    mapping: &Mapping,
    there: &[Column],
    same: fn(&str, &str) -> bool,
) -> Result<Vec<Column>> {
    let find = |name: &str| {
        let exact = there.iter().find(|column| column.name == name);
        exact.or_else(|| there.iter().find(|column| same(&column.name, name)))
    };
    for (field, name) in mapping.named() {
        if find(name).is_none() {
            let names: Vec<&str> = there.iter().map(|column| column.name.as_str()).collect();
            let what = format!(
                "import.{import}.{field}: the table {} has no column {name}",
                mapping.table
            );
            return Err(refuse(what).next(listed(&names)));
        }
    }
    let columns: Vec<Column> = mapping.columns().into_iter().filter_map(find).cloned().collect();
    match columns.first() {
        Some(order) if !order.kind.has_order() => {
            let what = format!(
                "import.{import}.order: the column {} is of the type {}, by which no table is read forward",
                order.name, order.type_name
            );
            Err(refuse(what).next("name a unique column of whole numbers, uuids, text or bytes that grow"))
        }
        _ => Ok(columns),
    }
}

/// The place that an operator names.
pub(super) fn place(import: &str, order: &Column, text: &str) -> Result<Position> {
    let declared = order.type_name.to_ascii_uppercase();
    let kind = match order.kind {
        Kind::Any if declared.contains("INT") => Kind::Integer,
        Kind::Any if declared.contains("BLOB") => Kind::Bytes,
        kind => kind,
    };
    let position = match kind {
        Kind::Integer => text.parse().ok().map(Position::Integer),
        Kind::Bytes => bytes(text).map(Position::Bytes),
        _ => Some(Position::Text(text.to_owned())),
    };
    position.ok_or_else(|| {
        let shown = redeliver::address::printable(text);
        let what = format!(
            "{shown:?} is no place in the order of import.{import}: the column {} is of the type {}",
            order.name, order.type_name
        );
        refuse(what).next("write it as the import writes it")
    })
}

/// Two hexadecimal digits a byte.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// The table is not there.
pub(super) fn no_table(import: &str, mapping: &Mapping, there: &[String]) -> StoreError {
    let what = format!(
        "import.{import}.table: the database has no table {}, or this user may not see it",
        mapping.table
    );
    refuse(what).next(match there {
        [] => "it shows no table at all: check import.NAME.database".to_owned(),
        tables => listed(tables),
    })
}

/// Some row would never be read.
pub(super) fn no_order(import: &str, mapping: &Mapping) -> StoreError {
    let what = format!(
        "import.{import}.order: the column {} is NULL in some rows, which would never be read",
        mapping.order
    );
    refuse(what).next("name a unique column that is never NULL")
}

/// The same value twice: the second row would be lost between two batches.
pub(super) fn not_unique(import: &str, order: &str, value: &Position) -> StoreError {
    let what = format!("import.{import}.order: the column {order} holds {value} more than once");
    refuse(what).next("name a unique column")
}

/// The operator's SQL is not SQL here, or names what is not there.
pub(super) fn bad_condition(import: &str, said: &str) -> StoreError {
    let said = redeliver::address::printable(said);
    let what =
        format!("import.{import}.where: the database refuses the statement with this condition: {said}");
    refuse(what).next("correct the condition, which is SQL as it stands")
}

/// The user may not read it.
pub(super) fn denied(import: &str, mapping: &Mapping, cause: StoreError) -> StoreError {
    let what = format!(
        "import.{import}: this user may not read the table {}",
        mapping.table
    );
    StoreError::new(StoreErrorKind::Denied, what)
        .next("grant it SELECT on the table, or name another user in import.NAME.database")
        .caused_by(cause)
}

/// Names from elsewhere, without what a terminal would obey.
fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| redeliver::address::printable(name.as_ref()))
        .collect();
    format!("it has {}", names.join(", "))
}

fn refuse(what: String) -> StoreError {
    StoreError::new(StoreErrorKind::BadInput, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_the_column_has_it() {
        let order = |type_name: &str, kind| Column {
            name: "id".to_owned(),
            type_name: type_name.to_owned(),
            kind,
            nullable: false,
        };
        let place = |type_name, kind, text| place("shop", &order(type_name, kind), text).ok();
        let text = |text: &str| Some(Position::Text(text.to_owned()));
        assert_eq!(place("bigint", Kind::Integer, "-7"), Some(Position::Integer(-7)));
        assert_eq!(place("bigint", Kind::Integer, "seven"), None);
        assert_eq!(place("INTEGER", Kind::Any, "7"), Some(Position::Integer(7)));
        assert_eq!(place("TEXT", Kind::Any, "007"), text("007"));
        assert_eq!(
            place("bytea", Kind::Bytes, "00fF"),
            Some(Position::Bytes(vec![0, 255]))
        );
        assert_eq!(place("bytea", Kind::Bytes, "00f"), None);
    }
}

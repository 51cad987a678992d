//! What there is in a foreign database, and whether the mapping fits it.

use super::{Holds, Mapping, Position};
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

impl Column {
    /// What values of it are told apart by. SQLite goes by what the declared type has in it, and converts what it can.
    pub(super) fn holds(&self) -> Holds {
        let declared = self.type_name.to_ascii_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
        match self.kind {
            Kind::Integer => Holds::Integers,
            Kind::Bytes => Holds::Bytes,
            Kind::Any if has(&["INT"]) => Holds::Integers,
            Kind::Any if has(&["CHAR", "CLOB", "TEXT"]) => Holds::Texts,
            Kind::Any if has(&["BLOB"]) => Holds::Blobs,
            Kind::Any => Holds::Anything,
            _ => Holds::Texts,
        }
    }
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
    order.holds().position(text).ok_or_else(|| {
        let shown = redeliver::address::printable(text);
        let what = format!(
            "{shown:?} is no place in the order of import.{import}: the column {} is of the type {}",
            order.name, order.type_name
        );
        refuse(what).next("write it as the import writes it")
    })
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
    fn a_column_holds_what_its_type_says() {
        let column = |type_name: &str, kind| Column {
            name: "id".to_owned(),
            type_name: type_name.to_owned(),
            kind,
            nullable: false,
        };
        for (type_name, kind, holds) in [
            ("bigint", Kind::Integer, Holds::Integers),
            ("uuid", Kind::Uuid, Holds::Texts),
            ("bytea", Kind::Bytes, Holds::Bytes),
            ("INTEGER", Kind::Any, Holds::Integers),
            ("varchar(20)", Kind::Any, Holds::Texts),
            ("BLOB", Kind::Any, Holds::Blobs),
            ("", Kind::Any, Holds::Anything),
        ] {
            assert_eq!(column(type_name, kind).holds(), holds, "{type_name}");
        }
        let order = column("bigint", Kind::Integer);
        assert_eq!(place("shop", &order, "-7").unwrap(), Position::Integer(-7));
        let refused = place("shop", &order, "seven").unwrap_err().to_string();
        assert!(refused.contains("write it as the import writes it"), "{refused}");
    }
}

//! Which columns of a foreign table are what of a message.

/// A table, and what of a message each of its columns is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The table.
    pub table: TableName,
    /// The column by which it is read, forward: unique, never NULL, growing.
    pub order: String,
    /// Which rows, as SQL of the operator's own; all of them if nothing is said.
    pub condition: Option<String>,
    /// Where to; none, or empty, if the rows are events.
    pub destination: Option<Source>,
    /// What they are about.
    pub topic: Option<Source>,
    /// The key of the lane.
    pub key: Option<Source>,
    /// What is delivered.
    pub payload: PayloadSource,
    /// Its type.
    pub content_type: Option<Source>,
    /// Headers for the destination: a JSON object.
    pub headers: Option<Source>,
    /// The trace context.
    pub traceparent: Option<Source>,
    /// Not delivered before this time.
    pub not_before: Option<Source>,
    /// Not delivered after this time.
    pub expires_at: Option<Source>,
    /// The column that tells rows apart when they are met again; the order column if nothing is said.
    pub deduplicate: Option<String>,
}

/// The name of a table, as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The schema (PostgreSQL), database (MariaDB, MySQL) or attached database (SQLite) that it is in.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
}

/// Where a field of a message comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The same for every row.
    Fixed(String),
    /// A column.
    Column(String),
}

/// Where the payload comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayloadSource {
    /// A column, as it is.
    Column(String),
    /// A JSON object of these columns.
    Columns(Vec<String>),
}

impl Mapping {
    /// Each column that is read, with the setting that names it.
    pub(super) fn named(&self) -> Vec<(&'static str, &str)> {
        let mut named = vec![("order", self.order.as_str())];
        for (field, source) in [
            ("destination", &self.destination),
            ("topic", &self.topic),
            ("key", &self.key),
            ("content_type", &self.content_type),
            ("headers", &self.headers),
            ("traceparent", &self.traceparent),
            ("not_before", &self.not_before),
            ("expires_at", &self.expires_at),
        ] {
            if let Some(Source::Column(column)) = source {
                named.push((field, column));
            }
        }
        match &self.payload {
            PayloadSource::Column(column) => named.push(("payload", column)),
            PayloadSource::Columns(columns) => {
                named.extend(columns.iter().map(|column| ("payload", column.as_str())));
            }
        }
        named.extend(
            self.deduplicate
                .iter()
                .map(|column| ("deduplicate", column.as_str())),
        );
        named
    }

    /// Each column that is read, once, the order column first.
    pub(super) fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        for (_, column) in self.named() {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }
}

impl std::fmt::Display for TableName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        f.write_str(&self.name)
    }
}

/// A name as all three databases take it: within these quotes, which are doubled where they are part of it.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(super) fn quoted(name: &str, quote: char) -> String {
    let doubled = name.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
impl TableName {
    pub(super) fn quoted(&self, quote: char) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema, quote), quoted(&self.name, quote)),
            None => quoted(&self.name, quote),
        }
    }
}

#[cfg(all(test, any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_a_name() {
        let table = TableName {
            schema: Some("a\"; DROP TABLE x; --".to_owned()),
            name: "b`c".to_owned(),
        };
        assert_eq!(table.quoted('"'), "\"a\"\"; DROP TABLE x; --\".\"b`c\"");
        assert_eq!(table.quoted('`'), "`a\"; DROP TABLE x; --`.`b``c`");
    }
}

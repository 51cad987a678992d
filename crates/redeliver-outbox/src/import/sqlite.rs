//! A table in an SQLite file, which is opened for reading only.

use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use rusqlite::{Connection, OpenFlags, Statement, types::ValueRef};

use super::{
    Cell, ForeignTable, Holds, Mapping, Outline, Position, Row, Span,
    catalogue::{self, Column, Kind},
    statement::{Dialect, Statements},
};
use crate::{
    limits::SQLITE_LOCK_WAIT,
    store::{
        Result, StoreError, StoreErrorKind,
        sqlite::{interpret, interpret_opening, path_of},
    },
};

/// A table in an SQLite file.
#[derive(Clone, Debug)]
pub(super) struct SqliteTable(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    import: String,
    connection: Mutex<Connection>,
    statements: Statements,
    columns: Vec<Column>,
}

const DIALECT: Dialect = Dialect {
    read: |_, name| name.to_owned(),
    size: |_, name| format!("length(CAST({name} AS BLOB))"),
    place: |_, number| format!("?{number}"),
    quote: '"',
};

impl SqliteTable {
    pub(super) async fn open(address: &str, import: &str, mapping: &Mapping) -> Result<Self> {
        let (address, import, mapping) = (address.to_owned(), import.to_owned(), mapping.clone());
        let opened = blocking(move || Inner::open(&address, &import, &mapping)).await?;
        Ok(Self(Arc::new(opened)))
    }
}

impl Inner {
    fn open(address: &str, import: &str, mapping: &Mapping) -> Result<Self> {
        let connection = connect(address, import)?;
        let there = columns(&connection, mapping).map_err(interpret)?;
        if there.is_empty() {
            let tables = tables(&connection).map_err(interpret)?;
            return Err(catalogue::no_table(import, mapping, &tables));
        }
        let columns = catalogue::fit(import, mapping, &there, str::eq_ignore_ascii_case)?;
        let statements = Statements::new(
            &DIALECT,
            mapping.table.quoted('"'),
            &columns[0],
            &columns,
            mapping.condition.as_deref(),
        );
        let inner = Self {
            import: import.to_owned(),
            connection: Mutex::new(connection),
            statements,
            columns,
        };
        // INTEGER PRIMARY KEY is never NULL, whatever its declaration says; asking is quick then.
        if inner.columns[0].nullable && inner.has_rows(&inner.statements.without_order())? {
            return Err(catalogue::no_order(import, mapping));
        }
        Ok(inner)
    }

    fn has_rows(&self, statement: &str) -> Result<bool> {
        let found = self.query(statement, Span::default(), |_| Ok(()))?;
        Ok(!found.is_empty())
    }

    fn query<T>(
        &self,
        statement: &str,
        span: Span<'_>,
        read: impl Fn(&rusqlite::Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = connection.prepare_cached(statement);
        let mut prepared = prepared.map_err(|error| self.refused(error))?;
        bind(&mut prepared, span).map_err(interpret)?;
        let mut rows = prepared.raw_query();
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(|error| self.refused(error))? {
            all.push(read(row)?);
        }
        Ok(all)
    }

    /// Table and columns were there: what SQLite does not understand is the operator's.
    fn refused(&self, error: rusqlite::Error) -> StoreError {
        let said = match &error {
            rusqlite::Error::SqlInputError { msg, .. } => msg,
            rusqlite::Error::SqliteFailure(code, Some(msg)) if code.extended_code == 1 => msg,
            _ => return interpret(error),
        };
        catalogue::bad_condition(&self.import, said)
    }

    fn outline(&self, span: Span<'_>, limit: usize) -> Result<Vec<Outline>> {
        let statement = self.statements.outline(span, limit);
        self.query(&statement, span, |row| {
            let bytes: i64 = row.get(1).map_err(interpret)?;
            Ok(Outline {
                position: position(row.get_ref(0).map_err(interpret)?)?,
                bytes: usize::try_from(bytes).unwrap_or_default(),
            })
        })
    }

    fn rows(&self, span: Span<'_>) -> Result<Vec<Row>> {
        let statement = self.statements.rows(span);
        self.query(&statement, span, |row| {
            let mut cells = Vec::with_capacity(self.columns.len());
            for (at, column) in self.columns.iter().enumerate() {
                cells.push(cell(column.kind, row.get_ref(at).map_err(interpret)?));
            }
            Ok(Row {
                position: position(row.get_ref(0).map_err(interpret)?)?,
                cells,
            })
        })
    }
}

impl ForeignTable for SqliteTable {
    fn holds(&self, column: usize) -> Holds {
        self.0.columns[column].holds()
    }

    fn place(&self, text: &str) -> Result<Position> {
        catalogue::place(&self.0.import, &self.0.columns[0], text)
    }

    fn outline<'a>(&'a self, span: Span<'a>, limit: usize) -> BoxFuture<'a, Result<Vec<Outline>>> {
        let (inner, after, until) = (Arc::clone(&self.0), span.after.cloned(), span.until.cloned());
        Box::pin(blocking(move || {
            let (after, until) = (after.as_ref(), until.as_ref());
            inner.outline(Span { after, until }, limit)
        }))
    }

    fn rows<'a>(&'a self, span: Span<'a>) -> BoxFuture<'a, Result<Vec<Row>>> {
        let (inner, after, until) = (Arc::clone(&self.0), span.after.cloned(), span.until.cloned());
        Box::pin(blocking(move || {
            let (after, until) = (after.as_ref(), until.as_ref());
            inner.rows(Span { after, until })
        }))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            let what = "the thread that reads the SQLite database ended";
            Err(StoreError::new(StoreErrorKind::Other, what).caused_by(error))
        }
    }
}

fn connect(address: &str, import: &str) -> Result<Connection> {
    let Some(path) = path_of(address)? else {
        let what = format!("import.{import}.database: a database in memory holds no table of anybody else's");
        return Err(
            StoreError::new(StoreErrorKind::BadInput, what).next("name a file, such as sqlite://shop.db")
        );
    };
    if !path.exists() {
        let what = format!(
            "import.{import}.database: there is no database {}",
            path.display()
        );
        return Err(StoreError::new(StoreErrorKind::BadInput, what).next("name a file that is there"));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(&path, flags).and_then(|connection| {
        connection.busy_timeout(SQLITE_LOCK_WAIT)?;
        // The first look tells whether it is a database at all.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    });
    opened.map_err(|error| interpret_opening(error, &path))
}

fn columns(connection: &Connection, mapping: &Mapping) -> rusqlite::Result<Vec<Column>> {
    let mut statement = connection.prepare(include_str!("sql/sqlite/columns.sql"))?;
    let read = |row: &rusqlite::Row<'_>| {
        let type_name: String = row.get(1)?;
        Ok(Column {
            name: row.get(0)?,
            kind: match type_name.to_ascii_uppercase().contains("JSON") {
                true => Kind::Json,
                false => Kind::Any,
            },
            type_name,
            nullable: row.get(2)?,
        })
    };
    statement
        .query_map((&mapping.table.name, &mapping.table.schema), read)?
        .collect()
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(include_str!("sql/sqlite/tables.sql"))?;
    statement.query_map([], |row| row.get(0))?.collect()
}

fn bind(statement: &mut Statement<'_>, span: Span<'_>) -> rusqlite::Result<()> {
    for (at, position) in [span.after, span.until].into_iter().flatten().enumerate() {
        match position {
            Position::Integer(number) => {
                statement.raw_bind_parameter(at + 1, i64::try_from(*number).unwrap_or(i64::MAX))?;
            }
            Position::Text(text) => statement.raw_bind_parameter(at + 1, text)?,
            Position::Bytes(bytes) => statement.raw_bind_parameter(at + 1, bytes)?,
        }
    }
    Ok(())
}

fn position(value: ValueRef<'_>) -> Result<Position> {
    Position::of(cell(Kind::Any, value)).ok_or_else(|| {
        let what = "the order column holds a value that is no whole number, no text and no bytes";
        StoreError::new(StoreErrorKind::BadInput, what).next("name a column of one of these")
    })
}

fn cell(kind: Kind, value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number.into()),
        ValueRef::Real(number) => Cell::Number(number.to_string()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
        ValueRef::Text(text) => match (str::from_utf8(text), kind) {
            (Ok(text), Kind::Json) => Cell::Json(text.to_owned()),
            (Ok(text), _) => Cell::Text(text.to_owned()),
            (Err(_), _) => Cell::Bytes(text.to_vec()),
        },
    }
}

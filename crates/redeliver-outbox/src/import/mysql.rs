//! A table or view in MariaDB or MySQL, read in transactions that cannot write.

use std::fmt;

use futures_core::future::BoxFuture;
use futures_util::future::{Either, select};
use mysql_async::{Conn, Error, Opts, OptsBuilder, Params, Row as MySqlRow, Value, prelude::Queryable};
use redeliver::clock::Timer;
use tokio::sync::Mutex;

use super::{
    Cell, ForeignTable, Holds, Mapping, Outline, Position, Row, Span,
    catalogue::{self, Column, Kind},
    statement::{Dialect, Statements},
};
use crate::{
    limits,
    store::{Result, StoreError, StoreErrorKind, mysql::store_error},
};

/// A table in MariaDB or MySQL.
pub(super) struct MySqlTable {
    import: String,
    mapping: Mapping,
    opts: Opts,
    /// None while there is none, or the last one met an error.
    connection: Mutex<Option<Conn>>,
    statements: Statements,
    columns: Vec<Column>,
}

/// The server's code for it; for the outbox's own database it means something else to do.
const NO_DATABASE: u16 = 1049;

const DIALECT: Dialect = Dialect {
    read: |_, name| name.to_owned(),
    size: |_, name| format!("LENGTH({name})"),
    place: |_, _| "?".to_owned(),
    quote: '`',
};

impl MySqlTable {
    pub(super) async fn open(address: &str, import: &str, mapping: &Mapping) -> Result<Self> {
        // One protocol, two names.
        let address = address.replacen("mariadb:", "mysql:", 1);
        let opts = Opts::from_url(&address).map_err(|error| store_error(error.into()))?;
        let opts = OptsBuilder::from_opts(opts)
            .init(vec![
                "SET NAMES utf8mb4".to_owned(),
                "SET SESSION time_zone = '+00:00'".to_owned(),
                "SET SESSION TRANSACTION READ ONLY".to_owned(),
            ])
            .tcp_keepalive(Some(limits::SERVER_PATIENCE));
        let opts = Opts::from(opts);
        let mut connection = connect(&opts).await?;
        let there = columns(&mut connection, mapping).await.map_err(store_error)?;
        if there.is_empty() {
            let schema = mapping.table.schema.clone();
            let statement = include_str!("sql/mysql/tables.sql");
            let tables: Vec<String> = connection.exec(statement, (schema,)).await.map_err(store_error)?;
            return Err(catalogue::no_table(import, mapping, &tables));
        }
        let columns = catalogue::fit(import, mapping, &there, str::eq_ignore_ascii_case)?;
        let table = Self {
            import: import.to_owned(),
            mapping: mapping.clone(),
            opts,
            connection: Mutex::new(Some(connection)),
            statements: Statements::new(
                &DIALECT,
                mapping.table.quoted('`'),
                &columns[0],
                &columns,
                mapping.condition.as_deref(),
            ),
            columns,
        };
        let no_order = table.statements.without_order();
        if table.columns[0].nullable && !table.query(no_order, Span::default()).await?.is_empty() {
            return Err(catalogue::no_order(import, mapping));
        }
        Ok(table)
    }

    /// The rows of a statement. A connection that met an error, or that hangs, is not used again.
    async fn query(&self, statement: String, span: Span<'_>) -> Result<Vec<Vec<Value>>> {
        let mut kept = self.connection.lock().await;
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => connect(&self.opts).await?,
        };
        let work = Box::pin(connection.exec(statement, places(span)));
        let rows: Vec<MySqlRow> = match select(work, Timer::limit(limits::IMPORT_PATIENCE)).await {
            Either::Left((rows, _)) => rows.map_err(|error| self.refused(error))?,
            Either::Right(_) => return Err(silent()),
        };
        *kept = Some(connection);
        Ok(rows.into_iter().map(MySqlRow::unwrap).collect())
    }

    /// Table and columns were there: what the server does not understand is the operator's.
    fn refused(&self, error: Error) -> StoreError {
        let Error::Server(said) = &error else {
            return store_error(error);
        };
        match said.code {
            1044 | 1142 | 1143 => catalogue::denied(&self.import, &self.mapping, store_error(error)),
            1052 | 1054 | 1064 | 1146 | 1210 | 1241 | 1305 | 1582 | 1792 => {
                catalogue::bad_condition(&self.import, &said.message)
            }
            _ => store_error(error),
        }
    }
}

/// Without the address, which may hold a password.
impl fmt::Debug for MySqlTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlTable")
            .field("import", &self.import)
            .field("mapping", &self.mapping)
            .finish_non_exhaustive()
    }
}

impl ForeignTable for MySqlTable {
    fn holds(&self, column: usize) -> Holds {
        self.columns[column].holds()
    }

    fn place(&self, text: &str) -> Result<Position> {
        catalogue::place(&self.import, &self.columns[0], text)
    }

    fn outline<'a>(&'a self, span: Span<'a>, limit: usize) -> BoxFuture<'a, Result<Vec<Outline>>> {
        Box::pin(async move {
            let rows = self.query(self.statements.outline(span, limit), span).await?;
            let outline = |row: Vec<Value>| {
                let mut values = row.into_iter();
                let order = values.next().unwrap_or(Value::NULL);
                let bytes = match values.next() {
                    Some(Value::Int(bytes)) => usize::try_from(bytes).unwrap_or_default(),
                    Some(Value::UInt(bytes)) => usize::try_from(bytes).unwrap_or(usize::MAX),
                    _ => 0,
                };
                Ok(Outline {
                    position: position(cell(self.columns[0].kind, order))?,
                    bytes,
                })
            };
            rows.into_iter().map(outline).collect()
        })
    }

    fn rows<'a>(&'a self, span: Span<'a>) -> BoxFuture<'a, Result<Vec<Row>>> {
        Box::pin(async move {
            let rows = self.query(self.statements.rows(span), span).await?;
            let read = |row: Vec<Value>| {
                let cells: Vec<Cell> = self
                    .columns
                    .iter()
                    .zip(row)
                    .map(|(column, value)| cell(column.kind, value))
                    .collect();
                let order = cells.first().cloned().unwrap_or(Cell::Null);
                Ok(Row {
                    position: position(order)?,
                    cells,
                })
            };
            rows.into_iter().map(read).collect()
        })
    }
}

async fn connect(opts: &Opts) -> Result<Conn> {
    let connecting = Box::pin(Conn::new(opts.clone()));
    match select(connecting, Timer::limit(limits::CONNECT_TIMEOUT)).await {
        Either::Left((connection, _)) => connection.map_err(|error| match &error {
            Error::Server(said) if said.code == NO_DATABASE => {
                let what = "the server has no database of this name, or this user may not see it";
                StoreError::new(StoreErrorKind::BadInput, what)
                    .next("correct its name in import.NAME.database, or grant the user SELECT on the table")
                    .caused_by(error)
            }
            _ => store_error(error),
        }),
        Either::Right(_) => {
            let what = "the database did not take a connection in time";
            Err(StoreError::new(StoreErrorKind::Unreachable, what).next("check its address and that it runs"))
        }
    }
}

async fn columns(connection: &mut Conn, mapping: &Mapping) -> std::result::Result<Vec<Column>, Error> {
    let table = (mapping.table.schema.clone(), mapping.table.name.clone());
    let rows: Vec<(String, String, bool)> = connection
        .exec(include_str!("sql/mysql/columns.sql"), table.clone())
        .await?;
    let version: Option<String> = connection.query_first("SELECT VERSION()").await?;
    let checked: Vec<String> = match version.is_some_and(|version| version.contains("MariaDB")) {
        true => {
            connection
                .exec(include_str!("sql/mysql/json_columns.sql"), table)
                .await?
        }
        false => Vec::new(),
    };
    let read = |(name, type_name, nullable): (String, String, bool)| Column {
        kind: match checked.contains(&name) {
            true => Kind::Json,
            false => kind(&type_name.to_ascii_lowercase()),
        },
        name,
        type_name,
        nullable,
    };
    Ok(rows.into_iter().map(read).collect())
}

fn kind(type_name: &str) -> Kind {
    match type_name {
        "json" => Kind::Json,
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => Kind::Integer,
        "decimal" | "float" | "double" => Kind::Number,
        "uuid" => Kind::Uuid,
        "date" | "datetime" | "timestamp" | "time" | "year" => Kind::Time,
        name if name.contains("blob") || name.contains("binary") || name == "bit" => Kind::Bytes,
        name if name.contains("char") || name.contains("text") => Kind::Text,
        // Sorted by something else than by what they look like.
        _ => Kind::Other,
    }
}

fn places(span: Span<'_>) -> Params {
    let value = |position: &Position| match position {
        Position::Integer(number) => match i64::try_from(*number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::UInt(u64::try_from(*number).unwrap_or_default()),
        },
        Position::Text(text) => Value::from(text.as_str()),
        Position::Bytes(bytes) => Value::Bytes(bytes.clone()),
    };
    let values: Vec<Value> = [span.after, span.until]
        .into_iter()
        .flatten()
        .map(value)
        .collect();
    match values.is_empty() {
        true => Params::Empty,
        false => Params::Positional(values),
    }
}

fn position(cell: Cell) -> Result<Position> {
    Position::of(cell).ok_or_else(|| {
        let what = "the order column holds a value that cannot be read";
        StoreError::new(StoreErrorKind::BadInput, what)
    })
}

fn cell(kind: Kind, value: Value) -> Cell {
    match value {
        Value::NULL => Cell::Null,
        Value::Int(number) => Cell::Integer(number.into()),
        Value::UInt(number) => Cell::Integer(number.into()),
        Value::Float(number) => Cell::Number(number.to_string()),
        Value::Double(number) => Cell::Number(number.to_string()),
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let fraction = match micros {
                0 => String::new(),
                micros => format!(".{micros:06}"),
            };
            Cell::Text(format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}"
            ))
        }
        Value::Time(..) => Cell::Text(value.as_sql(true).trim_matches('\'').to_owned()),
        Value::Bytes(bytes) => match (kind, String::from_utf8(bytes)) {
            (Kind::Bytes, Ok(text)) => Cell::Bytes(text.into_bytes()),
            (Kind::Bytes, Err(error)) => Cell::Bytes(error.into_bytes()),
            (Kind::Json, Ok(text)) => Cell::Json(text),
            (Kind::Number, Ok(text)) => Cell::Number(text),
            (_, Ok(text)) => Cell::Text(text),
            (_, Err(error)) => Cell::Bytes(error.into_bytes()),
        },
    }
}

fn silent() -> StoreError {
    let what = format!(
        "the database did not read a batch of rows within {} s",
        limits::IMPORT_PATIENCE.as_secs()
    );
    StoreError::new(StoreErrorKind::Unreachable, what).next(
        "see that the order column has an index that fits the condition, or read fewer rows with --batch",
    )
}

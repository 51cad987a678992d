//! A table, view or foreign table in PostgreSQL, read in transactions that cannot write.

use std::fmt;

use futures_core::future::BoxFuture;
use futures_util::future::{Either, select};
use redeliver::clock::Timer;
use tokio::sync::Mutex;
use tokio_postgres::{
    Client, Config, Row as PostgresRow,
    types::{ToSql, Type},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    Cell, ForeignTable, Holds, Mapping, Outline, Position, Row, Span,
    catalogue::{self, Column, Kind},
    statement::{Dialect, Statements},
};
use crate::{
    limits,
    store::{
        Result, StoreError, StoreErrorKind,
        postgres::{configure, interpret},
    },
};

/// A table in PostgreSQL.
pub(super) struct PostgresTable {
    import: String,
    mapping: Mapping,
    config: Config,
    tls: MakeRustlsConnect,
    /// None while there is none, or the last one met an error.
    client: Mutex<Option<Client>>,
    statements: Statements,
    columns: Vec<Column>,
}

/// What a text becomes does not depend on how the server or the role is set up.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; SET LOCAL TIME ZONE 'UTC'; \
    SET LOCAL datestyle = 'ISO'; SET LOCAL extra_float_digits = 1; SET LOCAL jit = off";

const DIALECT: Dialect = Dialect {
    read: |column, name| match column.kind {
        Kind::Bytes => name.to_owned(),
        _ => format!("{name}::text"),
    },
    size: |column, name| match column.kind {
        Kind::Bytes => format!("octet_length({name})::bigint"),
        _ => format!("octet_length({name}::text)::bigint"),
    },
    place: |column, number| format!("CAST(${number} AS pg_catalog.{})", column.type_name),
    quote: '"',
};

impl PostgresTable {
    pub(super) async fn open(address: &str, import: &str, mapping: &Mapping) -> Result<Self> {
        let (mut config, tls) = configure(address)?;
        config.connect_timeout(limits::CONNECT_TIMEOUT);
        config.keepalives_idle(limits::SERVER_PATIENCE);
        config.application_name("redeliver import");
        let client = connect(&config, &tls).await?;
        let there = columns(&client, mapping)
            .await
            .map_err(|error| match error.kind() {
                StoreErrorKind::Denied => catalogue::denied(import, mapping, error),
                _ => error,
            })?;
        if there.is_empty() {
            let tables = tables(&client, mapping).await?;
            return Err(catalogue::no_table(import, mapping, &tables));
        }
        let columns = catalogue::fit(import, mapping, &there, |_, _| false)?;
        let table = Self {
            import: import.to_owned(),
            mapping: mapping.clone(),
            config,
            tls,
            client: Mutex::new(Some(client)),
            statements: Statements::new(
                &DIALECT,
                mapping.table.quoted('"'),
                &columns[0],
                &columns,
                mapping.condition.as_deref(),
            ),
            columns,
        };
        let no_order = table.statements.without_order();
        if table.columns[0].nullable && !table.query(&no_order, Span::default()).await?.is_empty() {
            return Err(catalogue::no_order(import, mapping));
        }
        Ok(table)
    }

    /// The rows of a statement. A connection that met an error, or that hangs, is not used again.
    async fn query(&self, statement: &str, span: Span<'_>) -> Result<Vec<PostgresRow>> {
        let mut kept = self.client.lock().await;
        let client = match kept.take() {
            Some(client) if !client.is_closed() => client,
            _ => connect(&self.config, &self.tls).await?,
        };
        let work = Box::pin(ask(&client, statement, span));
        let rows = match select(work, Timer::limit(limits::IMPORT_PATIENCE)).await {
            Either::Left((rows, _)) => rows.map_err(|error| self.refused(error))?,
            Either::Right(_) => return Err(silent()),
        };
        *kept = Some(client);
        Ok(rows)
    }

    /// Table and columns were there: what the server does not understand is the operator's.
    fn refused(&self, error: tokio_postgres::Error) -> StoreError {
        let code = error
            .code()
            .map(|code| code.code().to_owned())
            .unwrap_or_default();
        let said = error.as_db_error().map(|said| said.message().to_owned());
        match (code.as_str(), said) {
            ("42501", _) => catalogue::denied(&self.import, &self.mapping, interpret(error)),
            (code, Some(said)) if code.starts_with("42") || code.starts_with("22") || code == "25006" => {
                catalogue::bad_condition(&self.import, &said)
            }
            _ => interpret(error),
        }
    }
}

/// Without the address, which may hold a password.
impl fmt::Debug for PostgresTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresTable")
            .field("import", &self.import)
            .field("mapping", &self.mapping)
            .finish_non_exhaustive()
    }
}

impl ForeignTable for PostgresTable {
    fn holds(&self, column: usize) -> Holds {
        self.columns[column].holds()
    }

    fn place(&self, text: &str) -> Result<Position> {
        catalogue::place(&self.import, &self.columns[0], text)
    }

    fn outline<'a>(&'a self, span: Span<'a>, limit: usize) -> BoxFuture<'a, Result<Vec<Outline>>> {
        Box::pin(async move {
            let rows = self.query(&self.statements.outline(span, limit), span).await?;
            let outline = |row: &PostgresRow| {
                let bytes: i64 = row.try_get(1).map_err(interpret)?;
                Ok(Outline {
                    position: position(self.columns[0].kind, row)?,
                    bytes: usize::try_from(bytes).unwrap_or_default(),
                })
            };
            rows.iter().map(outline).collect()
        })
    }

    fn rows<'a>(&'a self, span: Span<'a>) -> BoxFuture<'a, Result<Vec<Row>>> {
        Box::pin(async move {
            let rows = self.query(&self.statements.rows(span), span).await?;
            let read = |row: &PostgresRow| {
                let columns = self.columns.iter().enumerate();
                let cells = columns.map(|(at, column)| cell(column.kind, row, at));
                Ok(Row {
                    position: position(self.columns[0].kind, row)?,
                    cells: cells.collect::<Result<_>>()?,
                })
            };
            rows.iter().map(read).collect()
        })
    }
}

async fn connect(config: &Config, tls: &MakeRustlsConnect) -> Result<Client> {
    let (client, connection) = config.connect(tls.clone()).await.map_err(interpret)?;
    // It ends with the client, and what it meets the client's next statement says.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

async fn ask(
    client: &Client,
    statement: &str,
    span: Span<'_>,
) -> std::result::Result<Vec<PostgresRow>, tokio_postgres::Error> {
    let values: Vec<(Box<dyn ToSql + Sync + Send>, Type)> = [span.after, span.until]
        .into_iter()
        .flatten()
        .map(|position| -> (Box<dyn ToSql + Sync + Send>, Type) {
            match position {
                Position::Integer(number) => (Box::new(number.to_string()), Type::TEXT),
                Position::Text(text) => (Box::new(text.clone()), Type::TEXT),
                Position::Bytes(bytes) => (Box::new(bytes.clone()), Type::BYTEA),
            }
        })
        .collect();
    let parameters: Vec<(&(dyn ToSql + Sync), Type)> = values
        .iter()
        .map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone()))
        .collect();
    client.batch_execute(BEGIN).await?;
    let rows = client.query_typed(statement, &parameters).await?;
    client.batch_execute("COMMIT").await?;
    Ok(rows)
}

async fn columns(client: &Client, mapping: &Mapping) -> Result<Vec<Column>> {
    let table = mapping.table.quoted('"');
    let rows = client
        .query_typed(include_str!("sql/postgres/columns.sql"), &[(&table, Type::TEXT)])
        .await
        .map_err(interpret)?;
    let read = |row: &PostgresRow| {
        let type_name: String = row.try_get(1).map_err(interpret)?;
        Ok(Column {
            name: row.try_get(0).map_err(interpret)?,
            kind: kind(&type_name),
            type_name,
            nullable: row.try_get(2).map_err(interpret)?,
        })
    };
    rows.iter().map(read).collect()
}

async fn tables(client: &Client, mapping: &Mapping) -> Result<Vec<String>> {
    let schema = mapping.table.schema.as_deref().unwrap_or_default();
    let rows = client
        .query_typed(include_str!("sql/postgres/tables.sql"), &[(&schema, Type::TEXT)])
        .await
        .map_err(interpret)?;
    rows.iter().map(|row| row.try_get(0).map_err(interpret)).collect()
}

fn kind(type_name: &str) -> Kind {
    match type_name {
        "text" | "varchar" | "bpchar" => Kind::Text,
        "json" | "jsonb" => Kind::Json,
        "bytea" => Kind::Bytes,
        "int2" | "int4" | "int8" => Kind::Integer,
        "bool" => Kind::Boolean,
        "uuid" => Kind::Uuid,
        "numeric" | "float4" | "float8" => Kind::Number,
        "timestamp" | "timestamptz" | "date" => Kind::Time,
        _ => Kind::Other,
    }
}

fn position(kind: Kind, row: &PostgresRow) -> Result<Position> {
    Position::of(cell(kind, row, 0)?).ok_or_else(|| {
        let what = "the order column holds a value that cannot be read";
        StoreError::new(StoreErrorKind::BadInput, what)
    })
}

fn cell(kind: Kind, row: &PostgresRow, at: usize) -> Result<Cell> {
    if kind == Kind::Bytes {
        let bytes: Option<Vec<u8>> = row.try_get(at).map_err(interpret)?;
        return Ok(bytes.map_or(Cell::Null, Cell::Bytes));
    }
    let text: Option<String> = row.try_get(at).map_err(interpret)?;
    Ok(text.map_or(Cell::Null, |text| of_text(kind, text)))
}

fn of_text(kind: Kind, text: String) -> Cell {
    match kind {
        Kind::Json => Cell::Json(text),
        Kind::Number => Cell::Number(text),
        Kind::Boolean => Cell::Boolean(text == "true"),
        Kind::Integer => match text.parse() {
            Ok(number) => Cell::Integer(number),
            Err(_) => Cell::Number(text),
        },
        Kind::Time => Cell::Text(time(text)),
        Kind::Text | Kind::Uuid | Kind::Bytes | Kind::Other | Kind::Any => Cell::Text(text),
    }
}

/// `2026-11-15 20:30:00+00` as the rest of the world writes it; anything else stays as it is.
fn time(text: String) -> String {
    if text.parse::<crate::Timestamp>().is_err() {
        return text;
    }
    match text.replacen(' ', "T", 1) {
        zoned if zoned.ends_with("+00") => format!("{}Z", zoned.trim_end_matches("+00")),
        other => other,
    }
}

fn silent() -> StoreError {
    let what = format!(
        "PostgreSQL did not read a batch of rows within {} s",
        limits::IMPORT_PATIENCE.as_secs()
    );
    StoreError::new(StoreErrorKind::Unreachable, what).next(
        "see that the order column has an index that fits the condition, or read fewer rows with --batch",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_everybody_writes_them() {
        for (given, written) in [
            ("2026-11-15 20:30:00.123456+00", "2026-11-15T20:30:00.123456Z"),
            ("2026-11-15 20:30:00", "2026-11-15T20:30:00"),
            ("2026-11-15", "2026-11-15"),
            ("infinity", "infinity"),
            ("{a,b}", "{a,b}"),
        ] {
            assert_eq!(time(given.to_owned()), written);
        }
    }
}

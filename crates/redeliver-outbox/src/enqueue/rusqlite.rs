use rusqlite::{
    Connection, Savepoint, params_from_iter,
    types::{ToSql, ToSqlOutput, ValueRef},
};

use super::{
    Answer, Dialect, Job, Parameter, Statement, Transaction,
    answer::Row,
    drive_blocking::drive_blocking,
    error::{refused, sqlite_kind},
    statement::Returns,
};
use crate::store::{StoreError, StoreErrorKind};

macro_rules! transactions {
    ($($client:ty),*) => {$(
        impl<'a> Transaction<'a> for &'a $client {
            type Answer<T: Send + 'a> = T;
            const DIALECT: Dialect = Dialect::Sqlite;

            fn drive<J: Job + 'a>(self, job: Result<J, J::Error>) -> Result<J::Outcome, J::Error> {
                drive_blocking(job, |statement| run(self, statement).map_err(error))
            }
        }
    )*};
}

transactions!(Connection, rusqlite::Transaction<'_>, Savepoint<'_>);

fn run(connection: &Connection, statement: &Statement<'_>) -> rusqlite::Result<Answer> {
    if statement.usual {
        ask(&mut *connection.prepare_cached(&statement.sql)?, statement)
    } else {
        ask(&mut connection.prepare(&statement.sql)?, statement)
    }
}

fn ask(prepared: &mut rusqlite::Statement<'_>, statement: &Statement<'_>) -> rusqlite::Result<Answer> {
    let parameters = params_from_iter(&statement.parameters);
    if statement.returns == Returns::Count {
        return Ok(Answer {
            changed: prepared.execute(parameters)? as u64,
            ..Answer::default()
        });
    }
    let keyed = statement.returns == Returns::Keys;
    let rows = prepared.query_map(parameters, |row| {
        Ok(Row {
            number: row.get(0)?,
            salt: row.get(1)?,
            deduplication_key: keyed.then(|| row.get(2)).transpose()?,
        })
    })?;
    Ok(Answer {
        rows: rows.collect::<rusqlite::Result<_>>()?,
        ..Answer::default()
    })
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Integer(integer) => integer.map(ValueRef::Integer),
            Self::Text(text) => text.as_ref().map(|text| ValueRef::Text(text.as_bytes())),
            Self::Binary(bytes) => bytes.as_ref().map(|bytes| ValueRef::Blob(bytes)),
        };
        Ok(ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null)))
    }
}

fn error(error: rusqlite::Error) -> StoreError {
    let kind = match &error {
        rusqlite::Error::SqliteFailure(code, message) => {
            sqlite_kind(code.extended_code, message.as_deref().unwrap_or_default())
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => sqlite_kind(error.extended_code, msg),
        _ => StoreErrorKind::Other,
    };
    refused(kind, error)
}

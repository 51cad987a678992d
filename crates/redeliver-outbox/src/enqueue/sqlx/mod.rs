//! The three databases of sqlx: one skeleton, and what differs in a file each.

#[cfg(feature = "enqueue-sqlx-mysql")]
mod mysql;
#[cfg(feature = "enqueue-sqlx-postgres")]
mod postgres;
#[cfg(feature = "enqueue-sqlx-sqlite")]
mod sqlite;

use super::{answer::Row, error::refused, statement::Returns};
use crate::store::{StoreError, StoreErrorKind};

/// `Transaction` for a connection and a transaction of one database. `$inserted` reads the number of the one row inserted from the
/// result, `$kind` the kind of an error that the database reported.
macro_rules! adapter {
    ($database:ty, $connection:ty, $dialect:expr, $inserted:expr, $kind:expr) => {
        impl<'a> Transaction<'a> for &'a mut $connection {
            type Answer<T: Send + 'a> = BoxFuture<'a, T>;
            const DIALECT: Dialect = $dialect;

            fn drive<J: Job + 'a>(
                self,
                job: Result<J, J::Error>,
            ) -> BoxFuture<'a, Result<J::Outcome, J::Error>> {
                drive_async(job, self)
            }
        }

        impl<'a> Transaction<'a> for &'a mut sqlx::Transaction<'_, $database> {
            type Answer<T: Send + 'a> = BoxFuture<'a, T>;
            const DIALECT: Dialect = $dialect;

            fn drive<J: Job + 'a>(
                self,
                job: Result<J, J::Error>,
            ) -> BoxFuture<'a, Result<J::Outcome, J::Error>> {
                drive_async(job, &mut **self)
            }
        }

        impl Client for &mut $connection {
            async fn run(&mut self, statement: &Statement<'_>) -> Result<Answer, StoreError> {
                // Its only variable part are names that `Names` has checked.
                let mut query = sqlx::query::<$database>(sqlx::AssertSqlSafe(statement.sql.as_str()))
                    .persistent(statement.usual);
                for parameter in &statement.parameters {
                    query = match parameter {
                        Parameter::Integer(integer) => query.bind(*integer),
                        Parameter::Text(text) => query.bind(text.as_deref()),
                        Parameter::Binary(bytes) => query.bind(bytes.as_deref()),
                    };
                }
                if statement.returns == Returns::Count {
                    let done = query
                        .execute(&mut **self)
                        .await
                        .map_err(|error| failed(error, $kind))?;
                    return Ok(Answer {
                        changed: done.rows_affected(),
                        inserted: $inserted(&done),
                        ..Answer::default()
                    });
                }
                let rows = query
                    .fetch_all(&mut **self)
                    .await
                    .map_err(|error| failed(error, $kind))?;
                let rows = rows
                    .iter()
                    .map(|row| read(row, statement.returns))
                    .collect::<Result<_, _>>();
                Ok(Answer {
                    rows: rows.map_err(|error| failed(error, $kind))?,
                    ..Answer::default()
                })
            }
        }
    };
}
use adapter;

fn read<R: sqlx::Row>(row: &R, returns: Returns) -> Result<Row, sqlx::Error>
where
    usize: sqlx::ColumnIndex<R>,
    i64: for<'r> sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    String: for<'r> sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    Ok(Row {
        number: row.try_get(0)?,
        salt: row.try_get(1)?,
        deduplication_key: (returns == Returns::Keys).then(|| row.try_get(2)).transpose()?,
    })
}

fn failed(
    error: sqlx::Error,
    kind: impl FnOnce(&dyn sqlx::error::DatabaseError) -> StoreErrorKind,
) -> StoreError {
    let kind = match &error {
        sqlx::Error::Database(reported) => kind(reported.as_ref()),
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::WorkerCrashed => StoreErrorKind::Unreachable,
        _ => StoreErrorKind::Other,
    };
    refused(kind, error)
}

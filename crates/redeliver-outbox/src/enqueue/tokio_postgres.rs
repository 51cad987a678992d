use std::error::Error;

use futures_core::future::BoxFuture;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use super::{
    Answer, Dialect, Job, Parameter, Statement, Transaction,
    answer::Row,
    drive_async::{Client, drive_async},
    error::{postgres_kind, refused},
    statement::Returns,
};
use crate::store::{StoreError, StoreErrorKind};

macro_rules! transactions {
    ($($client:ty),*) => {$(
        impl<'a> Transaction<'a> for &'a $client {
            type Answer<T: Send + 'a> = BoxFuture<'a, T>;
            const DIALECT: Dialect = Dialect::Postgres;

            fn drive<J: Job + 'a>(self, job: Result<J, J::Error>) -> BoxFuture<'a, Result<J::Outcome, J::Error>> {
                drive_async(job, Postgres(self))
            }
        }

        impl Client for Postgres<&$client> {
            async fn run(&mut self, statement: &Statement<'_>) -> Result<Answer, StoreError> {
                // The types are known, so that one round trip does what preparing would take two for.
                let parameters: Vec<(&(dyn ToSql + Sync), Type)> = statement
                    .parameters
                    .iter()
                    .map(|parameter| (parameter as &(dyn ToSql + Sync), parameter.postgres_type()))
                    .collect();
                if statement.returns == Returns::Count {
                    let changed = self.0.execute_typed(&statement.sql, &parameters).await.map_err(error)?;
                    return Ok(Answer { changed, ..Answer::default() });
                }
                let rows = self.0.query_typed(&statement.sql, &parameters).await.map_err(error)?;
                let rows = rows.iter().map(|row| read(row, statement.returns)).collect::<Result<_, _>>();
                Ok(Answer { rows: rows.map_err(error)?, ..Answer::default() })
            }
        }
    )*};
}

struct Postgres<C>(C);

transactions!(tokio_postgres::Client, tokio_postgres::Transaction<'_>);

fn read(row: &tokio_postgres::Row, returns: Returns) -> Result<Row, tokio_postgres::Error> {
    Ok(Row {
        number: row.try_get(0)?,
        salt: row.try_get(1)?,
        deduplication_key: (returns == Returns::Keys).then(|| row.try_get(2)).transpose()?,
    })
}

impl Parameter<'_> {
    const fn postgres_type(&self) -> Type {
        match self {
            Self::Integer(_) => Type::INT8,
            Self::Text(_) => Type::TEXT,
            Self::Binary(_) => Type::BYTEA,
        }
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Integer(integer) => integer.to_sql(kind, out),
            Self::Text(text) => text.as_deref().to_sql(kind, out),
            Self::Binary(bytes) => bytes.as_deref().to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

fn error(error: tokio_postgres::Error) -> StoreError {
    let kind = match error.code() {
        Some(state) => postgres_kind(state.code()),
        None if error.is_closed() => StoreErrorKind::Unreachable,
        None => StoreErrorKind::Other,
    };
    refused(kind, error)
}

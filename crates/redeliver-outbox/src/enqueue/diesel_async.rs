use std::future::Future;

use diesel::{QueryResult, backend::Backend};
use diesel_async::{AsyncConnectionCore, RunQueryDsl};
use futures_core::future::BoxFuture;

use super::{
    Answer, Dialect, Job, Statement, Transaction,
    diesel_query::{Keyed, Numbered, error, query},
    drive_async::{Client, drive_async},
    statement::Returns,
};
use crate::store::StoreError;

/// A connection of diesel-async, inside `connection.transaction(async |connection| …)`.
///
/// It is a wrapper, because any type may be a connection for Diesel, even another client's.
#[derive(Debug)]
pub struct DieselAsync<'a, C>(pub &'a mut C);

/// One of Diesel's own backends: PostgreSQL, MySQL, and SQLite with `enqueue-diesel-sqlite`.
pub trait DieselAsyncBackend: Backend {
    #[doc(hidden)]
    const DIALECT: Dialect;

    #[doc(hidden)]
    fn run<C: AsyncConnectionCore<Backend = Self>>(
        connection: &mut C,
        statement: &Statement<'_>,
    ) -> impl Future<Output = QueryResult<Answer>> + Send;
}

macro_rules! backend {
    ($backend:ty, $dialect:expr) => {
        impl DieselAsyncBackend for $backend {
            const DIALECT: Dialect = $dialect;

            async fn run<C: AsyncConnectionCore<Backend = Self>>(
                connection: &mut C,
                statement: &Statement<'_>,
            ) -> QueryResult<Answer> {
                let query = query!(Self, statement);
                let mut answer = Answer::default();
                match statement.returns {
                    Returns::Count => answer.changed = query.execute(connection).await? as u64,
                    Returns::Numbers => {
                        let rows: Vec<Numbered> = query.load(connection).await?;
                        answer.rows = rows.into_iter().map(Into::into).collect();
                    }
                    Returns::Keys => {
                        let rows: Vec<Keyed> = query.load(connection).await?;
                        answer.rows = rows.into_iter().map(Into::into).collect();
                    }
                }
                Ok(answer)
            }
        }
    };
}

backend!(diesel::pg::Pg, Dialect::Postgres);
backend!(diesel::mysql::Mysql, Dialect::Mysql);
#[cfg(feature = "enqueue-diesel-sqlite")]
backend!(diesel::sqlite::Sqlite, Dialect::Sqlite);

impl<'a, C: AsyncConnectionCore<Backend: DieselAsyncBackend>> Transaction<'a> for DieselAsync<'a, C> {
    type Answer<T: Send + 'a> = BoxFuture<'a, T>;
    const DIALECT: Dialect = <C::Backend as DieselAsyncBackend>::DIALECT;

    fn drive<J: Job + 'a>(self, job: Result<J, J::Error>) -> BoxFuture<'a, Result<J::Outcome, J::Error>> {
        drive_async(job, self)
    }
}

impl<C: AsyncConnectionCore<Backend: DieselAsyncBackend>> Client for DieselAsync<'_, C> {
    async fn run(&mut self, statement: &Statement<'_>) -> Result<Answer, StoreError> {
        <C::Backend as DieselAsyncBackend>::run(self.0, statement)
            .await
            .map_err(error)
    }
}

use diesel::{QueryResult, RunQueryDsl, backend::Backend, connection::LoadConnection};

use super::{
    Answer, Dialect, Job, Statement, Transaction,
    diesel_query::{Keyed, Numbered, error, query},
    drive_blocking::drive_blocking,
    statement::Returns,
};

/// A Diesel connection, inside `connection.transaction(|connection| …)`.
///
/// It is a wrapper, because any type may be a connection for Diesel, even another client's.
#[derive(Debug)]
pub struct Diesel<'a, C>(pub &'a mut C);

/// One of Diesel's own backends: PostgreSQL, MySQL, and SQLite with `enqueue-diesel-sqlite`.
pub trait DieselBackend: Backend {
    #[doc(hidden)]
    const DIALECT: Dialect;

    #[doc(hidden)]
    fn run<C: LoadConnection<Backend = Self>>(
        connection: &mut C,
        statement: &Statement<'_>,
    ) -> QueryResult<Answer>;
}

macro_rules! backend {
    ($backend:ty, $dialect:expr) => {
        impl DieselBackend for $backend {
            const DIALECT: Dialect = $dialect;

            fn run<C: LoadConnection<Backend = Self>>(
                connection: &mut C,
                statement: &Statement<'_>,
            ) -> QueryResult<Answer> {
                let query = query!(Self, statement);
                let mut answer = Answer::default();
                match statement.returns {
                    Returns::Count => answer.changed = query.execute(connection)? as u64,
                    Returns::Numbers => {
                        let rows: Vec<Numbered> = query.load(connection)?;
                        answer.rows = rows.into_iter().map(Into::into).collect();
                    }
                    Returns::Keys => {
                        let rows: Vec<Keyed> = query.load(connection)?;
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

impl<'a, C: LoadConnection<Backend: DieselBackend>> Transaction<'a> for Diesel<'a, C> {
    type Answer<T: Send + 'a> = T;
    const DIALECT: Dialect = <C::Backend as DieselBackend>::DIALECT;

    fn drive<J: Job + 'a>(self, job: Result<J, J::Error>) -> Result<J::Outcome, J::Error> {
        drive_blocking(job, |statement| {
            <C::Backend as DieselBackend>::run(self.0, statement).map_err(error)
        })
    }
}

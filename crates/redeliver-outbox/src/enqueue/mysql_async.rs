use futures_core::future::BoxFuture;
use mysql_async::{Conn, Params, Value, prelude::Queryable};

use super::{
    Answer, Dialect, Job, Parameter, Statement, Transaction,
    answer::Row,
    drive_async::{Client, drive_async},
    error::{mysql_kind, refused},
    statement::Returns,
};
use crate::store::{StoreError, StoreErrorKind};

impl<'a> Transaction<'a> for &'a mut Conn {
    type Answer<T: Send + 'a> = BoxFuture<'a, T>;
    const DIALECT: Dialect = Dialect::Mysql;

    fn drive<J: Job + 'a>(self, job: Result<J, J::Error>) -> BoxFuture<'a, Result<J::Outcome, J::Error>> {
        drive_async(job, Mysql(self))
    }
}

impl<'a> Transaction<'a> for &'a mut mysql_async::Transaction<'_> {
    type Answer<T: Send + 'a> = BoxFuture<'a, T>;
    const DIALECT: Dialect = Dialect::Mysql;

    fn drive<J: Job + 'a>(self, job: Result<J, J::Error>) -> BoxFuture<'a, Result<J::Outcome, J::Error>> {
        drive_async(job, Mysql(self))
    }
}

struct Mysql<'a, C>(&'a mut C);

impl<C: Queryable> Client for Mysql<'_, C> {
    async fn run(&mut self, statement: &Statement<'_>) -> Result<Answer, StoreError> {
        let values = statement.parameters.iter().map(value).collect();
        let answer = self
            .0
            .exec_iter(statement.sql.as_str(), Params::Positional(values))
            .await
            .map_err(error)?;
        let (changed, inserted) = (answer.affected_rows(), answer.last_insert_id());
        let rows = match statement.returns {
            Returns::Count => {
                answer.drop_result().await.map_err(error)?;
                Vec::new()
            }
            Returns::Numbers => answer
                .collect_and_drop()
                .await
                .map_err(error)?
                .into_iter()
                .map(numbered)
                .collect(),
            Returns::Keys => answer
                .collect_and_drop()
                .await
                .map_err(error)?
                .into_iter()
                .map(keyed)
                .collect(),
        };
        Ok(Answer {
            changed,
            rows,
            inserted: inserted.and_then(|number| i64::try_from(number).ok()),
        })
    }
}

const fn numbered((number, salt): (i64, i64)) -> Row {
    Row {
        number,
        salt,
        deduplication_key: None,
    }
}

fn keyed((number, salt, key): (i64, i64, String)) -> Row {
    Row {
        number,
        salt,
        deduplication_key: Some(key),
    }
}

fn value(parameter: &Parameter<'_>) -> Value {
    match parameter {
        Parameter::Integer(integer) => integer.map(Value::Int),
        Parameter::Text(text) => text.as_ref().map(|text| Value::Bytes(text.as_bytes().to_vec())),
        Parameter::Binary(bytes) => bytes.as_ref().map(|bytes| Value::Bytes(bytes.to_vec())),
    }
    .unwrap_or(Value::NULL)
}

fn error(error: mysql_async::Error) -> StoreError {
    let kind = match &error {
        mysql_async::Error::Server(server) => mysql_kind(server.code),
        mysql_async::Error::Io(_) => StoreErrorKind::Unreachable,
        _ => StoreErrorKind::Other,
    };
    refused(kind, error)
}

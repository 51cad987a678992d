//! One transaction and the statements in it.

use mysql_async::{Conn, IsolationLevel, Params, Row, Transaction, TxOpts, Value, prelude::Queryable};

use super::{MySqlStore, Result, literal, row::MySqlColumns};
use crate::store::columns::Columns;

/// A transaction. Dropped without a commit, it is rolled back before the connection is used again.
pub(super) struct Work<'a> {
    pub(super) store: &'a MySqlStore,
    pub(super) transaction: Transaction<'a>,
}

impl<'a> Work<'a> {
    /// A transaction that writes.
    pub(super) async fn begin(store: &'a MySqlStore, connection: &'a mut Conn) -> Result<Self> {
        Self::with(store, connection, TxOpts::default()).await
    }

    /// A transaction whose statements all see the database as it is now.
    pub(super) async fn snapshot(store: &'a MySqlStore, connection: &'a mut Conn) -> Result<Self> {
        let mut options = TxOpts::new();
        options
            .with_isolation_level(IsolationLevel::RepeatableRead)
            .with_readonly(true)
            .with_consistent_snapshot(true);
        Self::with(store, connection, options).await
    }

    async fn with(store: &'a MySqlStore, connection: &'a mut Conn, options: TxOpts) -> Result<Self> {
        let transaction = connection.start_transaction(options).await;
        Ok(Self {
            store,
            transaction: transaction.map_err(|error| store.failed(error))?,
        })
    }

    pub(super) async fn rows(
        &mut self,
        statement: &str,
        values: impl Into<Params> + Send,
    ) -> Result<Vec<MySqlColumns>> {
        let (sql, values) = (self.store.sql(statement).into_owned(), values.into());
        let rows: Vec<Row> = match self.transaction.exec(sql.as_str(), values.clone()).await {
            Err(error) if cannot_stay_prepared(&error) => {
                self.transaction.query(literal::filled(&sql, &values)).await
            }
            rows => rows,
        }
        .map_err(|error| self.store.failed(error))?;
        Ok(rows.into_iter().map(MySqlColumns::of).collect())
    }

    /// The rows, each read from left to right.
    pub(super) async fn read<T>(
        &mut self,
        statement: &str,
        values: impl Into<Params> + Send,
        read: fn(&mut dyn Columns) -> Result<T>,
    ) -> Result<Vec<T>> {
        let rows = self.rows(statement, values).await?;
        rows.into_iter().map(|mut row| read(&mut row)).collect()
    }

    pub(super) async fn row(
        &mut self,
        statement: &str,
        values: impl Into<Params> + Send,
    ) -> Result<Option<MySqlColumns>> {
        Ok(self.rows(statement, values).await?.into_iter().next())
    }

    /// Runs it and says how many rows it met.
    pub(super) async fn run(&mut self, statement: &str, values: impl Into<Params> + Send) -> Result<u64> {
        let (sql, values) = (self.store.sql(statement).into_owned(), values.into());
        match self.transaction.exec_drop(sql.as_str(), values.clone()).await {
            Err(error) if cannot_stay_prepared(&error) => {
                self.transaction.query_drop(literal::filled(&sql, &values)).await
            }
            done => done,
        }
        .map_err(|error| self.store.failed(error))?;
        Ok(self.transaction.affected_rows())
    }

    /// Inserts rows of the history. Where one is refused, those of the same number are removed first: a number may be given twice, after
    /// a restore, and the history keeps the newer message. Not REPLACE and not ON DUPLICATE KEY UPDATE, which would remove or change
    /// another row where an operator has a unique index.
    pub(super) async fn insert_over(
        &mut self,
        (insert, values): (&str, Params),
        (remove, old): (&str, Value),
    ) -> Result<()> {
        match self.run(insert, values.clone()).await {
            Err(error) if error.kind().is_about_content() => {
                self.run(remove, (old,)).await?;
                self.run(insert, values).await?;
            }
            done => {
                done?;
            }
        }
        Ok(())
    }

    /// Ends it where there was nothing to do. MariaDB keeps the locks of rows that it only looked at until then, and whoever comes next would skip them: that must
    /// not wait until the pool tidies the connection up.
    pub(super) async fn abandon(self) -> Result<()> {
        let store = self.store;
        self.transaction
            .rollback()
            .await
            .map_err(|error| store.failed(error))
    }

    pub(super) async fn commit(self) -> Result<()> {
        let store = self.store;
        self.transaction
            .commit()
            .await
            .map_err(|error| store.failed(error))
    }
}

/// Whether the server has lost a prepared statement and could not prepare it again. MySQL does so with every view, its own included,
/// while more tables are in use than its `table_definition_cache` holds; the transaction is not affected.
fn cannot_stay_prepared(error: &mysql_async::Error) -> bool {
    matches!(error, mysql_async::Error::Server(server) if server.code == NEED_REPREPARE)
}

const NEED_REPREPARE: u16 = 1615;

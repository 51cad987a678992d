//! One connection for the length of one piece of work.

use deadpool_postgres::Object;
use tokio_postgres::{
    Client, Row,
    types::{ToSql, Type},
};

use super::{Names, Result, error, row::PostgresColumns};
use crate::store::columns::Columns;

/// A parameter and its type: naming it spares the question to the server, and with it a prepared statement.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// What the relay's own statements are planned with, for as long as their transaction lasts. The planner knows the tables as they
/// were when they were last analysed, empty perhaps, and would walk through all of a table that has grown since.
const PLANNER: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; \
    SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off; \
    SET LOCAL max_parallel_workers_per_gather = 0;";
/// What is looked at through an index is planned so: the planner expects little of indexes on tables that are in use, and would rather read
/// all of a table, with all of the machine's cores.
const GLANCE: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off; \
    SET LOCAL max_parallel_workers_per_gather = 0;";
/// What is looked at shard by shard besides: a planner that does not know yet how few there are would read all of an index.
const BY_SHARD: &str = "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;";
/// What looks at everything takes its time, and leaves the other cores to the relay and to those who insert.
const LOOK: &str = "SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0;";
/// A snapshot that is older than an `ALTER TABLE` that rewrites a table finds the table empty. A transaction that keeps one snapshot
/// therefore locks what it reads before it takes the snapshot: the lock waits for the rewrite, and `LOCK TABLE` takes no snapshot.
/// (A READ COMMITTED statement takes its snapshot after the locks of its own.)
const LOCK_READ: &str = "LOCK TABLE redeliver_outbox, redeliver_lanes IN ACCESS SHARE MODE;";
/// The same, for all that an operator looks at.
const LOCK_LOOK: &str = "LOCK TABLE redeliver_outbox, redeliver_dead, redeliver_sent, redeliver_events, redeliver_lanes, \
    redeliver_audit IN ACCESS SHARE MODE;";
/// A relay that stops in the middle of a transaction must not keep its shards locked.
const WRITER: &str = "SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '10s';";

/// How a transaction begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    /// The relay writes: each statement sees what was committed when it began.
    Write,
    /// The relay reads: all statements see the same.
    Read,
    /// An operator acts; planned as usual.
    Desk,
    /// An operator looks at everything: all statements see the same.
    Look,
    /// An operator looks at what an index finds, however much there is besides: all statements see the same.
    Glance,
    /// The same, of messages that each shard has for itself.
    GlanceByShard,
}

/// A connection. If a transaction is left open, by an error or because its future was dropped, the connection is closed and not
/// used again.
pub(super) struct Session<'a> {
    object: Option<Object>,
    names: &'a Names,
    open: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(object: Object, names: &'a Names) -> Self {
        Self {
            object: Some(object),
            names,
            open: false,
        }
    }

    pub(super) fn names(&self) -> &'a Names {
        self.names
    }

    pub(super) fn client(&self) -> Result<&Client> {
        self.object
            .as_ref()
            .map(|object| &***object)
            .ok_or_else(error::closed)
    }

    /// Says that a transaction is open from now on. What follows is sent at once when it is first polled, so joining [`Self::begin`],
    /// statements and [`Self::commit`], in this order, makes one round trip of them.
    pub(super) const fn opens(&mut self) {
        self.open = true;
    }

    /// Says that the transaction was committed.
    pub(super) const fn closed(&mut self) {
        self.open = false;
    }

    pub(super) async fn begin(&self, begin: Begin) -> Result<()> {
        let statement = match begin {
            Begin::Write => format!("BEGIN ISOLATION LEVEL READ COMMITTED; {PLANNER} {WRITER}"),
            Begin::Read => {
                format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {PLANNER} {LOCK_READ}")
            }
            Begin::Desk => format!("BEGIN ISOLATION LEVEL READ COMMITTED; {WRITER}"),
            Begin::Look => format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {LOOK} {LOCK_LOOK}"),
            Begin::Glance => format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {GLANCE} {LOCK_LOOK}"),
            Begin::GlanceByShard => {
                format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {GLANCE} {BY_SHARD} {LOCK_LOOK}")
            }
        };
        self.batch(&self.names.fill(&statement)).await
    }

    pub(super) async fn commit(&self) -> Result<()> {
        self.batch("COMMIT").await
    }

    /// Statements without parameters, as they are.
    pub(super) async fn batch(&self, statements: &str) -> Result<()> {
        self.client()?.batch_execute(statements).await.map_err(error::of)
    }

    /// A statement of ours, its names filled in.
    pub(super) async fn query(&self, statement: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>> {
        let statement = self.names.fill(statement);
        self.client()?
            .query_typed(&statement, parameters)
            .await
            .map_err(error::of)
    }

    /// The rows, each read from left to right.
    pub(super) async fn read<T>(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
        read: fn(&mut dyn Columns) -> Result<T>,
    ) -> Result<Vec<T>> {
        let rows = self.query(statement, parameters).await?;
        rows.iter()
            .map(|row| read(&mut PostgresColumns::of(row)))
            .collect()
    }

    pub(super) async fn execute(&self, statement: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        let statement = self.names.fill(statement);
        self.client()?
            .execute_typed(&statement, parameters)
            .await
            .map_err(error::of)
    }

    pub(super) async fn one(&self, statement: &str, parameters: &[Parameter<'_>]) -> Result<Row> {
        let rows = self.query(statement, parameters).await?;
        rows.into_iter().next().ok_or_else(error::no_row)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Some(object) = self.object.take().filter(|_| self.open) {
            drop(Object::take(object));
        }
    }
}

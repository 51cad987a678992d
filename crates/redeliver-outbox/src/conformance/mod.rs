//! The suite that every store passes: what [`Store`], [`Reader`](crate::store::Reader) and [`Desk`](crate::desk::Desk) promise, as numbered cases.
//!
//! Whoever writes another store implements [`Factory`] and [`Harness`] for it, and has every case as a test of its own:
//!
//! ```ignore
//! redeliver_outbox::conformance_tests!(MyFactory::default());
//! ```
//!
//! or runs them in one go with [`run`]. No case waits for time to pass: it moves the times in the tables instead.

use std::{fmt, sync::Arc};

use futures_core::future::BoxFuture;

use crate::{
    Timestamp,
    desk::JobDesk,
    store::{History, Result, Store},
};

mod attempts;
mod away;
mod behind;
mod bytes;
mod catalogue;
mod chain;
mod claim;
mod edit;
mod failure;
mod fan_out;
mod fault;
mod guard;
mod heads;
mod history;
mod hold;
mod issue;
mod job;
mod job_desk;
mod job_trouble;
mod kept_ids;
mod lane;
mod lease;
mod migrate;
mod model;
mod order;
mod overview;
mod page;
mod park;
mod patch;
mod payload;
mod query;
mod read;
mod redrive;
mod redrive_order;
mod refused;
mod replay;
mod retain;
mod search;
mod settle;
mod status;
mod subject;
mod times;
mod twice;
mod write;

pub use catalogue::{Case, cases, pass, run};
pub use failure::Failure;

/// Makes outboxes to test, each apart from all others.
pub trait Factory: Send + Sync {
    /// An empty place for an outbox: a database, a schema or a prefix of its own, without tables.
    fn empty(&self) -> BoxFuture<'_, Result<Arc<dyn Harness>>>;
}

/// One outbox under test, and the ways around the store that a test needs.
pub trait Harness: Send + Sync + fmt::Debug {
    /// What is tested.
    fn store(&self) -> Arc<dyn Store>;

    /// The same outbox, by a store that keeps this of what arrived.
    ///
    /// # Errors
    ///
    /// If there is no such store.
    fn store_keeping(&self, history: History) -> Result<Arc<dyn Store>>;

    /// The operator's side of it.
    fn desk(&self) -> Arc<dyn JobDesk>;

    /// Runs a statement as any other program would, in a transaction of its own. The token `redeliver_` in it is filled in.
    fn execute<'a>(&'a self, statement: &'a str) -> BoxFuture<'a, Result<()>>;

    /// What a query returns, every value as text.
    fn rows<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Vec<Vec<Option<String>>>>>;

    /// A transaction that stays open until it is told how to end.
    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn OpenTransaction>>>;

    /// This time as the tables hold it, as an expression of the database's SQL.
    fn time(&self, time: Timestamp) -> String;

    /// Whether the database has one writer at a time, so that numbers are committed in their order.
    fn one_writer(&self) -> bool;
}

/// A transaction of another program.
pub trait OpenTransaction: Send {
    /// Runs a statement in it. The token `redeliver_` is filled in.
    fn execute<'a>(&'a mut self, statement: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Makes it true.
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<()>>;

    /// Undoes it.
    fn roll_back(self: Box<Self>) -> BoxFuture<'static, Result<()>>;
}

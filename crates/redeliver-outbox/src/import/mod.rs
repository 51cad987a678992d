//! Taking over from a foreign outbox table: rows are read forward and put into the outbox, each once, however often it is done.
//!
//! A [`Mapping`] says which columns are what of a message, [`open`] looks whether the table has them, and an [`Import`] goes through the
//! rows. Every message has the de-duplication key `import:NAME:VALUE` ([`Holds`]), so that running it again, or after a crash, inserts
//! nothing twice for as long as keys are remembered ([`DEDUPLICATION_RETENTION`](crate::limits::DEDUPLICATION_RETENTION)).

#[cfg_attr(
    not(all(feature = "sqlite", feature = "postgres")),
    expect(dead_code, reason = "each database has its own part of it")
)]
mod catalogue;
mod cell;
mod exact;
mod insert;
mod like;
mod mapping;
mod message;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod run;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod statement;
mod step;
mod trail;

use std::fmt;

use futures_core::future::BoxFuture;

pub use cell::{Cell, Position};
pub use exact::Holds;
pub use like::{LIKE, like};
pub use mapping::{Mapping, PayloadSource, Source, TableName};
#[cfg(feature = "config")]
pub(crate) use message::headers_of;
pub use run::Import;
pub use step::{Refusal, Step, Tally, Trouble};

use crate::store::{Result, StoreError, StoreErrorKind};

/// A row of a foreign table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where it is.
    pub position: Position,
    /// What is in the columns that the mapping names, each once: the order column, then the others as they are named.
    pub cells: Vec<Cell>,
}

/// Where a row is, and how large it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Where.
    pub position: Position,
    /// How many bytes its columns hold.
    pub bytes: usize,
}

/// A stretch of a table: behind one place, up to another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span<'a> {
    /// Behind this place, or from the beginning.
    pub after: Option<&'a Position>,
    /// Up to and with this place, or to the end.
    pub until: Option<&'a Position>,
}

/// A table that is read and never written to.
pub trait ForeignTable: Send + Sync + fmt::Debug {
    /// What a column holds. Columns are counted as the cells of a row are.
    fn holds(&self, column: usize) -> Holds;

    /// The place that a text names, as [`Holds::written`] writes it.
    ///
    /// # Errors
    ///
    /// If the order column holds nothing that looks like this.
    fn place(&self, text: &str) -> Result<Position>;

    /// The first so many rows of a stretch, in order, without what is in them.
    fn outline<'a>(&'a self, span: Span<'a>, limit: usize) -> BoxFuture<'a, Result<Vec<Outline>>>;

    /// The rows of a stretch, in order. It is for the caller to name one that fits into memory.
    fn rows<'a>(&'a self, span: Span<'a>) -> BoxFuture<'a, Result<Vec<Row>>>;
}

/// Opens the table that the mapping of this import names, at `sqlite://…`, `postgres://…`, `mysql://…` or `mariadb://…`, as far as this
/// build has them.
///
/// # Errors
///
/// If the database cannot be reached, or has no such table or column: which, and what there is instead.
pub async fn open(address: &str, import: &str, mapping: &Mapping) -> Result<Box<dyn ForeignTable>> {
    let scheme = address.split(':').next().unwrap_or_default();
    match scheme {
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Box::new(
            sqlite::SqliteTable::open(address, import, mapping).await?,
        )),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok(Box::new(
            postgres::PostgresTable::open(address, import, mapping).await?,
        )),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Ok(Box::new(mysql::MySqlTable::open(address, import, mapping).await?)),
        _ => Err(unknown(import, mapping)),
    }
}

fn unknown(import: &str, mapping: &Mapping) -> StoreError {
    let what = format!(
        "import.{import}.database: the address of the table {} names no database that this build of redeliver knows",
        mapping.table
    );
    let next = "use sqlite://FILE, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE";
    StoreError::new(StoreErrorKind::BadInput, what).next(next)
}

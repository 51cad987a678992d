//! Putting a message into the outbox, in the caller's own transaction.
//!
//! [`Outbox::enqueue`] takes the transaction of the client that the caller already has; each client is behind its feature. Whatever
//! else the transaction writes and the message are committed together, or neither is. A blocking client answers at once, an async one
//! with a future.
//!
//! | feature | what is given to `enqueue` |
//! |---|---|
//! | `enqueue-rusqlite` | `&rusqlite::Transaction`, `&Savepoint`, `&Connection` |
//! | `enqueue-tokio-postgres` | `&tokio_postgres::Transaction`, `&Client` |
//! | `enqueue-mysql-async` | `&mut mysql_async::Transaction`, `&mut Conn` |
//! | `enqueue-sqlx-sqlite`, `-postgres`, `-mysql` | `&mut sqlx::Transaction<…>`, `&mut SqliteConnection` and so on |
//! | `enqueue-diesel` (SQLite: and `enqueue-diesel-sqlite`) | `Diesel(&mut connection)`, inside `connection.transaction(…)` |
//! | `enqueue-diesel-async` (SQLite: and `enqueue-diesel-sqlite`) | `DieselAsync(&mut connection)` |
//! | none | [`Outbox::statements`] gives the SQL and its parameters |
#![cfg_attr(
    feature = "enqueue-rusqlite",
    doc = r##"
```
use redeliver_outbox::{Enqueued, NewMessage, Outbox};

fn place_order(database: &mut rusqlite::Connection) -> Result<Enqueued, Box<dyn std::error::Error>> {
    let outbox = Outbox::default();
    let transaction = database.transaction()?;
    transaction.execute("INSERT INTO orders (id) VALUES (7)", ())?;
    let message = NewMessage::to("billing").key("order-7").payload(r#"{"order":7}"#);
    let enqueued = outbox.enqueue(&transaction, &message)?;
    transaction.commit()?;
    Ok(enqueued)
}
```
"##
)]

mod answer;
mod dialect;
#[cfg(feature = "enqueue-diesel")]
mod diesel;
#[cfg(feature = "enqueue-diesel-async")]
mod diesel_async;
#[cfg(any(feature = "enqueue-diesel", feature = "enqueue-diesel-async"))]
mod diesel_query;
#[cfg(feature = "_enqueue-async")]
mod drive_async;
#[cfg(feature = "_enqueue-blocking")]
mod drive_blocking;
mod entry;
mod error;
#[cfg(feature = "enqueue-mysql-async")]
mod mysql_async;
mod new_message;
mod outbox;
#[cfg(feature = "enqueue-rusqlite")]
mod rusqlite;
#[cfg(any(
    feature = "enqueue-sqlx-sqlite",
    feature = "enqueue-sqlx-postgres",
    feature = "enqueue-sqlx-mysql"
))]
mod sqlx;
mod statement;
#[cfg(feature = "enqueue-tokio-postgres")]
mod tokio_postgres;
mod transaction;
mod work;

pub use dialect::Dialect;
#[cfg(feature = "enqueue-diesel")]
pub use diesel::Diesel;
#[cfg(feature = "enqueue-diesel-async")]
pub use diesel_async::DieselAsync;
pub use error::EnqueueError;
pub use new_message::{InvalidMessage, NewMessage};
pub use outbox::{Enqueued, Outbox, Statements};
pub use statement::{Parameter, Statement};
pub use transaction::Transaction;

pub(crate) use answer::Answer;
pub(crate) use dialect::statement_of;
#[cfg(feature = "sqlite")]
pub(crate) use new_message::Due;
pub(crate) use new_message::{header, header_column, header_name};
pub(crate) use transaction::Job;

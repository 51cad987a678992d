//! Doing once what arrives more than once: the consumer's side.
//!
//! A relay delivers at least once. A consumer that notes each message's id in the transaction in which it does its own work has
//! the effect of each message exactly once: a second delivery waits for the first one's transaction, and is then known.
#![cfg_attr(
    feature = "enqueue-rusqlite",
    doc = r##"
```
use redeliver_outbox::{Inbox, Seen};

fn receive(database: &mut rusqlite::Connection, message_id: &str) -> Result<(), Box<dyn std::error::Error>> {
    let inbox = Inbox::new("invoicing");
    let transaction = database.transaction()?;
    if inbox.once(&transaction, message_id)? == Seen::First {
        transaction.execute("INSERT INTO invoices (order_id) VALUES (7)", ())?;
    }
    transaction.commit()?;
    Ok(())
}
```
"##
)]

use std::{fmt, time::Duration};

use crate::{
    enqueue::{Answer, Dialect, Job, Parameter, Statement, Transaction, statement_of},
    limits, millis_up,
    store::{Names, StoreError, StoreErrorKind},
};

mod table;

/// The ids that one consumer has seen, in the consumer's own database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbox {
    consumer: String,
    names: Names,
}

/// Whether a message is new to a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a message that was seen before is not to be worked on again"]
pub enum Seen {
    /// Never seen: do the work, in the same transaction.
    First,
    /// Seen, and its work committed: acknowledge it and do nothing.
    Again,
}

impl Inbox {
    /// The inbox of a consumer. Each consumer of the same messages has its own name, and sees each message once.
    #[must_use]
    pub fn new(consumer: impl Into<String>) -> Self {
        Self {
            consumer: consumer.into(),
            names: Names::default(),
        }
    }

    /// The same with other names of tables.
    #[must_use]
    pub fn names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// Notes the message's id as a part of the consumer's transaction, and tells whether it is there for the first time. While another
    /// transaction has noted the same id and has not ended, this waits for it.
    ///
    /// With a blocking client this is the result, with an async one a future of it.
    ///
    /// # Errors
    ///
    /// If the consumer's name or the id is empty or too long, or the database refuses: then roll back, and let the message be delivered
    /// again.
    pub fn once<'a, T: Transaction<'a>>(
        &'a self,
        transaction: T,
        message_id: impl fmt::Display,
    ) -> T::Answer<Result<Seen, StoreError>> {
        let statement = self.statement(T::DIALECT, message_id);
        transaction.drive(statement.map(|statement| Change::new(statement, seen)))
    }

    /// Forgets what was seen longer than `older_than` ago, `limit` ids at most, the oldest first; tells how many. It is complete when
    /// that is less than `limit`; a short transaction for each call keeps other writers from waiting.
    ///
    /// An id must be remembered for longer than it may still be delivered, redrives by an operator included. A relay forgets ids in its
    /// own database and keeps those of dead letters; this does not know of them.
    ///
    /// # Errors
    ///
    /// If the consumer's name is empty or too long, or the database refuses.
    pub fn forget<'a, T: Transaction<'a>>(
        &'a self,
        transaction: T,
        older_than: Duration,
        limit: usize,
    ) -> T::Answer<Result<u64, StoreError>> {
        let statement = self.checked().map(|consumer| {
            Statement::counting(
                T::DIALECT.write(&self.names, statement_of!(T::DIALECT, "forget.sql"), 1),
                vec![
                    Parameter::text(consumer),
                    Parameter::integer(millis_up(older_than.min(limits::LONGEST_DELAY))),
                    Parameter::integer(i64::try_from(limit).unwrap_or(i64::MAX)),
                ],
            )
        });
        transaction.drive(statement.map(|statement| Change::new(statement, |changed| changed)))
    }

    /// What [`Inbox::once`] runs, for a client without an adapter: if it changes one row the message is new, if none it was seen.
    ///
    /// # Errors
    ///
    /// If the consumer's name or the id is empty or too long.
    pub fn statement(
        &self,
        dialect: Dialect,
        message_id: impl fmt::Display,
    ) -> Result<Statement<'_>, StoreError> {
        let consumer = self.checked()?;
        let message_id = message_id.to_string();
        check("message id", &message_id, limits::INBOX_ID_LIMIT)?;
        Ok(Statement::counting(
            dialect.write(&self.names, statement_of!(dialect, "once.sql"), 1),
            vec![Parameter::text(consumer), Parameter::text(message_id)],
        ))
    }

    /// What makes the inbox's table and its index, for a database that has no other table of redeliver's. Run one after the other.
    #[must_use]
    pub fn create_table_sql(&self, dialect: Dialect) -> Vec<String> {
        table::statements(dialect)
            .iter()
            .map(|statement| self.names.fill(statement).into_owned())
            .collect()
    }

    fn checked(&self) -> Result<&str, StoreError> {
        check("consumer's name", &self.consumer, limits::CONSUMER_LIMIT)?;
        Ok(&self.consumer)
    }
}

const fn seen(changed: u64) -> Seen {
    if changed == 0 { Seen::Again } else { Seen::First }
}

/// MySQL would cut a longer text and take no notice of blanks at the end, and two ids become one.
fn check(what: &str, text: &str, limit: usize) -> Result<(), StoreError> {
    let length = text.len();
    if (1..=limit).contains(&length) && !text.contains(char::is_control) && text.trim() == text {
        return Ok(());
    }
    let what = format!("the {what}, of {length} bytes, cannot be used");
    let next =
        format!("use 1 to {limit} bytes of text without control characters and without blanks around it");
    Err(StoreError::new(StoreErrorKind::BadInput, what).next(next))
}

/// One statement, and what the number of rows that it changed means.
struct Change<'a, T> {
    statement: Option<Statement<'a>>,
    meaning: fn(u64) -> T,
    changed: u64,
}

impl<'a, T> Change<'a, T> {
    const fn new(statement: Statement<'a>, meaning: fn(u64) -> T) -> Self {
        Self {
            statement: Some(statement),
            meaning,
            changed: 0,
        }
    }
}

impl<T: Send> Job for Change<'_, T> {
    type Outcome = T;
    type Error = StoreError;

    fn next(&mut self) -> Option<Statement<'_>> {
        self.statement.take()
    }

    fn hear(&mut self, answer: Answer) -> Result<(), StoreError> {
        self.changed = answer.changed;
        Ok(())
    }

    fn finish(self) -> Result<T, StoreError> {
        Ok((self.meaning)(self.changed))
    }
}

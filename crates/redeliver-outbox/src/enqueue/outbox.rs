use super::{
    Dialect, EnqueueError, InvalidMessage, NewMessage, Statement, Transaction,
    work::{One, Work},
};
use crate::{MessageId, store::Names};

/// Where messages are put: redeliver's tables in the caller's own database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outbox {
    names: Names,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a duplicate was not inserted"]
pub enum Enqueued {
    /// It is in the outbox, and will be sent under this id if the transaction commits.
    New(MessageId),
    /// Its de-duplication key was known, so nothing was inserted. This is the id of the first message with the key, unless that was
    /// inserted with plain SQL that did not say.
    Duplicate(Option<MessageId>),
}

impl Enqueued {
    /// The id under which the message is sent, this time or the first time.
    #[must_use]
    pub const fn id(self) -> Option<MessageId> {
        match self {
            Self::New(id) => Some(id),
            Self::Duplicate(id) => id,
        }
    }

    /// A key that was known under this id; plain SQL may have left no number with it.
    #[cfg(feature = "sqlite")]
    pub(crate) const fn again(first: MessageId) -> Self {
        Self::Duplicate(if first.number() > 0 { Some(first) } else { None })
    }

    /// Whether it was inserted now.
    #[must_use]
    pub const fn is_new(self) -> bool {
        matches!(self, Self::New(_))
    }
}

/// What puts a message into the outbox, for a client without an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statements<'a> {
    /// Runs first, if there is one. If it changes no row, the message is a duplicate: do not run the other.
    pub deduplication: Option<Statement<'a>>,
    /// Inserts the message. On SQLite and PostgreSQL it returns a row: the number and the salt of its [`MessageId`].
    pub message: Statement<'a>,
}

impl Outbox {
    /// The outbox whose tables have these names; [`Outbox::default`] is the one with the usual names.
    #[must_use]
    pub const fn new(names: Names) -> Self {
        Self { names }
    }

    /// What the tables are called.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Puts a message into the outbox, as a part of the caller's transaction: it is sent if that commits, and never was if it does not.
    ///
    /// With a blocking client this is the result, with an async one a future of it.
    ///
    /// # Errors
    ///
    /// If the message breaks a rule, before the database is touched; or if the database refuses it. On PostgreSQL the transaction
    /// cannot go on after that.
    pub fn enqueue<'a, T: Transaction<'a>>(
        &'a self,
        transaction: T,
        message: &'a NewMessage,
    ) -> T::Answer<Result<Enqueued, EnqueueError>> {
        transaction.drive(
            Work::new(self, T::DIALECT, [message])
                .map(One)
                .map_err(Into::into),
        )
    }

    /// Puts many messages into the outbox, [`ENQUEUE_BATCH`](crate::limits::ENQUEUE_BATCH) in a statement, in their order. All or none
    /// are sent, because they are a part of the caller's transaction.
    ///
    /// # Errors
    ///
    /// As [`Outbox::enqueue`]. If one message breaks a rule, none is inserted. If the database refuses a later statement, the caller rolls
    /// the transaction back.
    pub fn enqueue_all<'a, T: Transaction<'a>>(
        &'a self,
        transaction: T,
        messages: &'a [NewMessage],
    ) -> T::Answer<Result<Vec<Enqueued>, EnqueueError>> {
        transaction.drive(Work::new(self, T::DIALECT, messages).map_err(Into::into))
    }

    /// The statements that put a message into the outbox, for a client without an adapter. Run them in a transaction.
    ///
    /// ```
    /// use redeliver_outbox::{NewMessage, Outbox, enqueue::Dialect};
    ///
    /// let message = NewMessage::to("billing").payload(r#"{"order":7}"#);
    /// let outbox = Outbox::default();
    /// let statements = outbox.statements(Dialect::Postgres, &message)?;
    /// assert!(statements.message.sql.starts_with("INSERT INTO redeliver_outbox"));
    /// assert_eq!(statements.message.parameters.len(), 13);
    /// assert_eq!(statements.deduplication, None);
    /// # Ok::<(), redeliver_outbox::EnqueueError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the message breaks a rule.
    pub fn statements<'a>(
        &'a self,
        dialect: Dialect,
        message: &'a NewMessage,
    ) -> Result<Statements<'a>, InvalidMessage> {
        Ok(Work::new(self, dialect, [message])?.by_hand())
    }
}

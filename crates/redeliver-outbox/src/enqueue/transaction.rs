use std::error::Error;

use super::{Answer, Dialect, Statement};
use crate::store::StoreError;

/// The caller's own transaction, in the type of the client that the caller already has.
///
/// It is implemented for the clients behind the `enqueue-…` features, and cannot be implemented elsewhere: for other clients there are
/// [`Outbox::statements`](super::Outbox::statements) and [`Inbox::statement`](crate::Inbox::statement).
pub trait Transaction<'a>: Sized {
    /// What a call gives back: the result itself with a blocking client, a future of it with an async one.
    type Answer<T: Send + 'a>;

    #[doc(hidden)]
    const DIALECT: Dialect;

    #[doc(hidden)]
    fn drive<J: Job + 'a>(self, job: Result<J, J::Error>) -> Self::Answer<Result<J::Outcome, J::Error>>;
}

/// Statements that are asked for one after the other, and what becomes of the answers. It touches no database itself, so that blocking
/// and async clients run the same one.
pub trait Job: Send {
    /// What comes out of it.
    type Outcome: Send;
    /// What may go wrong.
    type Error: Error + From<StoreError> + Send;

    /// The next statement to run; nothing when there is none left.
    fn next(&mut self) -> Option<Statement<'_>>;

    /// What the last statement was answered with.
    fn hear(&mut self, answer: Answer) -> Result<(), StoreError>;

    /// The outcome, once there is no statement left.
    fn finish(self) -> Result<Self::Outcome, Self::Error>;
}

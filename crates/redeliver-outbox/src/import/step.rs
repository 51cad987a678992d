//! What one step of an import did.

use super::Position;
use crate::{NewMessage, store::StoreError};

/// Which of the two databases failed, and how.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The one that the foreign table is in.
    #[error(transparent)]
    Table(StoreError),
    /// The one that the outbox is in.
    #[error(transparent)]
    Outbox(StoreError),
}

impl Trouble {
    /// How it failed.
    #[must_use]
    pub const fn error(&self) -> &StoreError {
        match self {
            Self::Table(error) | Self::Outbox(error) => error,
        }
    }
}

/// How many rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Were read.
    pub read: u64,
    /// Are new in the outbox, or would be.
    pub inserted: u64,
    /// Were in the outbox before.
    pub there_before: u64,
    /// Cannot be messages.
    pub refused: u64,
}

impl Tally {
    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            read: self.read + other.read,
            inserted: self.inserted + other.inserted,
            there_before: self.there_before + other.there_before,
            refused: self.refused + other.refused,
        }
    }
}

/// A row that cannot be a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where it is.
    pub position: Position,
    /// Why, in words that follow "the row …" or name the message's field.
    pub reason: String,
}

/// What one step did.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// How many rows.
    pub tally: Tally,
    /// Those that were refused.
    pub refusals: Vec<Refusal>,
    /// The first message of the step, if nothing was inserted because nothing was to be.
    pub sample: Option<NewMessage>,
    /// Whether there is more behind it.
    pub more: bool,
}

impl Step {
    pub(super) fn refuse(&mut self, position: Position, reason: String) {
        self.tally.refused += 1;
        self.refusals.push(Refusal { position, reason });
    }

    pub(super) fn add(&mut self, other: Self) {
        self.tally = self.tally.plus(other.tally);
        self.refusals.extend(other.refusals);
    }
}

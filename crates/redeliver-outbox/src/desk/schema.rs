//! The tables themselves.

use std::fmt;

use futures_core::future::BoxFuture;

use crate::store::Result;

/// A step of the schema, as it was applied or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Its number, from 1.
    pub version: u32,
    /// Its name.
    pub name: &'static str,
    /// The statements that apply it, with the names filled in.
    pub up: String,
    /// The statements that take it back.
    pub down: String,
}

/// How many and which shards: set when the tables are made, and not changed after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many shards.
    pub shards: u16,
}

/// The tables themselves.
pub trait Schema: Send + Sync + fmt::Debug {
    /// Every step, in order, as it would be run here.
    fn migrations(&self, layout: Layout) -> Vec<Migration>;

    /// The newest step that was applied; 0 if there is none.
    fn version(&self) -> BoxFuture<'_, Result<u32>>;

    /// Goes to this version, up or down, or to the newest, and returns the steps that were taken. Several processes may do it at
    /// once: one does, the others find it done.
    fn migrate(&self, layout: Layout, to: Option<u32>) -> BoxFuture<'_, Result<Vec<u32>>>;

    /// How many shards are usual for this database.
    fn usual_layout(&self) -> Layout;
}

/// What a client heard from its database.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// How many rows were changed.
    pub(crate) changed: u64,
    /// The rows that were returned.
    pub(crate) rows: Vec<Row>,
    /// The number that the database gave to the one row inserted, where the client tells it.
    pub(crate) inserted: Option<i64>,
}

/// A row that tells an id, and for which de-duplication key.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) number: i64,
    pub(crate) salt: i64,
    pub(crate) deduplication_key: Option<String>,
}

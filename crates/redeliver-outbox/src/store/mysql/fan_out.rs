//! Writing that events have become messages.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::{Work, row};
use crate::{
    MessageId,
    store::{History, Result},
};

/// A message that an event becomes.
pub(super) struct Branch {
    pub(super) event: MessageId,
    pub(super) destination: String,
    salt: i64,
}

impl Branch {
    pub(super) fn new(event: MessageId, destination: &str) -> Self {
        Self {
            event,
            destination: destination.to_owned(),
            salt: MessageId::draw_salt(),
        }
    }
}

/// The events are locked, and leave the hot table behind this.
pub(super) async fn write(work: &mut Work<'_>, events: &[i64], branches: &[Branch]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let history = work.store.history;
    let made = insert(work, include_str!("sql/fan_out.sql"), branches).await?;
    if history == History::Off {
        return Ok(());
    }
    note(work, branches, &made).await?;
    let payloads = history == History::Full;
    let rows = (payloads, payloads, row::list(events));
    work.insert_over(
        (include_str!("sql/settle_fanned_out.sql"), rows.into()),
        (include_str!("sql/remove_events.sql"), row::list(events)),
    )
    .await
}

/// Makes the messages, and tells the number that each was given, by its salt.
pub(super) async fn insert(
    work: &mut Work<'_>,
    statement: &str,
    branches: &[Branch],
) -> Result<HashMap<i64, i64>> {
    if branches.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = branches
        .iter()
        .map(|branch| json!([branch.event.number(), branch.destination, branch.salt.to_string()]));
    work.run(statement, (row::table(rows),)).await?;
    let mut numbers = HashMap::new();
    for mut row in work.rows(include_str!("sql/made_numbers.sql"), ()).await? {
        let (number, salt) = (row.take::<i64>()?, row.take::<i64>()?);
        numbers.insert(salt, number);
    }
    Ok(numbers)
}

/// Which message was made of which event.
pub(super) async fn note(work: &mut Work<'_>, branches: &[Branch], made: &HashMap<i64, i64>) -> Result<()> {
    let noted = |branch: &Branch| -> Option<Json> {
        let number = made.get(&branch.salt)?;
        let (event, salt) = (branch.event.number(), branch.event.salt().to_string());
        Some(json!([event, salt, branch.destination, number]))
    };
    let rows: Vec<Json> = branches.iter().filter_map(noted).collect();
    if !rows.is_empty() {
        let rows = row::table(rows);
        work.insert_over(
            (include_str!("sql/note_fan_out.sql"), (rows.clone(),).into()),
            (include_str!("sql/remove_branches.sql"), rows),
        )
        .await?;
    }
    Ok(())
}

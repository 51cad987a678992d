//! Connections that can only read are used once.
//!
//! A session whose database was closed to writers when it began (`ALTER DATABASE … SET default_transaction_read_only`) keeps to that for as
//! long as it lives, also when everybody else writes again. In the pool it would wait for the one statement that must be written, perhaps
//! the last one of a relay that stops.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use deadpool_postgres::{Hook, HookError};

/// What to do with a new connection, and with one that is to be used again.
pub(super) fn hooks() -> [Hook; 2] {
    let youngest = Arc::new(Mutex::new(None::<Instant>));
    let noted = Arc::clone(&youngest);
    let on_create = Hook::async_fn(move |client, metrics| {
        let (noted, created) = (Arc::clone(&noted), metrics.created);
        Box::pin(async move {
            // A server that does not answer here is met again by the statement that the connection is for.
            if let Ok(answer) = client.simple_query("SHOW transaction_read_only").await
                && answer.iter().any(says_on)
            {
                let mut youngest = noted.lock().unwrap_or_else(PoisonError::into_inner);
                *youngest = youngest.max(Some(created));
            }
            Ok(())
        })
    });
    let on_reuse = Hook::sync_fn(move |_, metrics| {
        let youngest = *youngest.lock().unwrap_or_else(PoisonError::into_inner);
        if youngest.is_some_and(|youngest| metrics.created <= youngest) {
            return Err(HookError::message("opened when the database could only be read"));
        }
        Ok(())
    });
    [on_create, on_reuse]
}

fn says_on(message: &tokio_postgres::SimpleQueryMessage) -> bool {
    matches!(message, tokio_postgres::SimpleQueryMessage::Row(row) if row.get(0) == Some("on"))
}

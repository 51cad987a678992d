//! The one suite, for each store.

#![cfg(feature = "conformance")]

#[cfg(feature = "sqlite")]
mod sqlite;

use std::sync::atomic::{AtomicU32, Ordering};

use redeliver_outbox::store::{StoreError, StoreErrorKind};

/// A name that no other test of this or another process has.
fn unused_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("t{}_{count}", std::process::id())
}

/// What the harness itself met.
fn harness_error(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::new(StoreErrorKind::Other, "the harness's own statement failed").caused_by(error)
}

//! The one suite, for each store.

#![cfg(feature = "conformance")]

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
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

/// The address of a server that the tests were given.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn server(variable: &str) -> redeliver_outbox::store::Result<String> {
    std::env::var(variable).map_err(|_| {
        let what = format!("{variable} is not set, so there is no server to test on");
        StoreError::new(StoreErrorKind::Unreachable, what)
            .next("run `./test`, or first `eval \"$(scripts/services start)\"`")
    })
}

/// What the harness itself met.
fn harness_error(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::new(StoreErrorKind::Other, "the harness's own statement failed").caused_by(error)
}

//! The HTTP client against the fault server: what is retried, when, and what is not.

#![expect(clippy::unwrap_used, reason = "the steps that tests share fail as tests do")]

mod broken;
mod idempotency;
mod recovery;
mod redirects;
mod retry_after;
mod seen;

//! A retrying HTTP client over reqwest (feature `http`).
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/answers.rs"));
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let url = answers(&[(503, "busy"), (201, r#"{"id":7}"#)]).await?;
//! use redeliver::{Policy, http::Client};
//!
//! #[derive(serde::Serialize)]
//! struct NewOrder { item: &'static str }
//! #[derive(serde::Deserialize)]
//! struct Order { id: u64 }
//!
//! let client = Client::new(Policy::INTERACTIVE);
//! // The key that makes it safe to repeat is made once and sent with every attempt.
//! let order: Order = client.post(&url).json(&NewOrder { item: "tea" }).idempotent().receive_json().await?;
//! assert_eq!(order.id, 7);
//! # Ok(()) }
//! ```
//!
//! - An attempt is the whole exchange, body included, so its timeout and the deadline cover slow bodies too. Bodies are bounded while
//!   they come ([`ClientBuilder::max_body_bytes`]), and one that breaks off is a failure like any other.
//! - Statuses are judged by a [`StatusTable`](crate::classify::StatusTable); `Retry-After` beats the backoff.
//! - What is not idempotent is not repeated blindly: see [`RequestBuilder::idempotent`].
//! - A host that answers `Retry-After` to one call of a client is left alone by all its calls: before each attempt, the first included, the
//!   call's own session decides how long it is held back, with the policy's limits and deadline. A hold that would end past the deadline ends the call
//!   without a request; no attempt is counted for a hold; see [`ClientBuilder::share_retry_after`].
//! - GET and HEAD follow up to ten redirects; of any other request a redirect is an error that has the answer.

mod client;
mod error;
mod exchange;
mod holds;
mod idempotency;
mod observers;
mod request;
mod response;
mod target;
mod transport;

pub use client::{
    Client, ClientBuilder, DEFAULT_ATTEMPT_TIMEOUT, DEFAULT_CONNECT_TIMEOUT, DEFAULT_MAX_BODY_BYTES,
};
pub use error::{Error, ErrorKind};
pub use exchange::Exchange;
pub use request::RequestBuilder;
pub use reqwest::{Method, StatusCode, header};
pub use response::Response;

//! Retries as a [tower](https://docs.rs/tower) layer.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use redeliver::{Policy, tower::RetryLayer};
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! static CALLS: AtomicU32 = AtomicU32::new(0);
//!
//! let mut greeter = ServiceBuilder::new()
//!     .layer(RetryLayer::new(Policy::INTERACTIVE))
//!     .service(service_fn(async |name: String| match CALLS.fetch_add(1, Ordering::Relaxed) {
//!         0 => Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)),
//!         _ => Ok(format!("hello {name}")),
//!     }));
//!
//! assert_eq!(greeter.ready().await?.call("world".to_owned()).await?, "hello world");
//! # Ok(()) }
//! ```
//!
//! - A response may be a failure too: [`RetryLayer::judge`] takes a closure over the whole result.
//! - A request is cloned for each attempt; [`RetryLayer::replay`] is for requests that can be copied only sometimes.
//! - Each attempt waits until the service is ready for it, the first on the service that `poll_ready` made ready, each retry on
//!   a fresh clone.
//! - When there is no further attempt, the last response is returned as it is if the last attempt gave one. Otherwise the error is a boxed
//!   [`GaveUp<Cause>`](crate::GaveUp), as tower's own middleware boxes what it adds to a service's errors:
//!
//! ```
//! use redeliver::{GaveUp, tower::{BoxError, Cause}};
//!
//! fn explain(error: &BoxError) -> String {
//!     match error.downcast_ref::<GaveUp<Cause>>() {
//!         Some(gave_up) => format!("{} attempts, then {}", gave_up.attempts, gave_up.reason),
//!         None => error.to_string(),
//!     }
//! }
//! # assert_eq!(explain(&"x".into()), "x");
//! ```

mod attempt;
mod error;
mod future;
mod judge;
mod layer;
mod replay;
mod service;

pub use error::{BoxError, Cause};
pub use future::ResponseFuture;
pub use judge::Judge;
pub use layer::RetryLayer;
pub use replay::{ByClone, Replay};
pub use service::Retry;

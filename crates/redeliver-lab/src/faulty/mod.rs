//! A server that fails on purpose, from a seed: the payment API of the documents, one path per fault, and streams that
//! drop their connections and can be resumed without a gap.
//!
//! Every path is a row of [`FAULT_PATHS`]; `GET /` prints them. Loopback only, and everything it holds is bounded.
//!
//! ```
//! use redeliver_lab::faulty::{Faulty, FaultyConfig};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = Faulty::start(FaultyConfig { fail_rate: 100, ..FaultyConfig::default() })?;
//! assert!(server.base_url().starts_with("http://127.0.0.1:"));
//! assert_eq!(server.stats().requests, 0);
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod body;
mod catalogue;
mod chance;
mod config;
mod date;
mod drops;
mod exchange;
mod faults;
mod limit;
mod outage;
mod payment;
mod picky;
mod query;
mod recent;
mod reply;
mod request;
mod route;
mod server;
mod socket;
mod sse;
mod stats;
mod wait;
mod websocket;

pub(crate) use body::{Body, full, read};
pub use catalogue::{FAULT_PATHS, FaultPath, catalogue_text};
pub(crate) use chance::{generator, happens};
pub use config::{ConfigError, FaultyConfig};
pub use recent::Recent;
pub use server::{Faulty, FaultyServer};
pub use stats::{FaultyStats, PaymentStats, RequestRecord, RouteStats};
pub(crate) use wait::{pause, since_epoch};

//! WebSocket reconnection, ready to use.
//!
//! ```no_run
//! # async fn watch() -> Result<(), Box<dyn std::error::Error>> {
//! use redeliver::{prelude::*, websocket::WebSocket};
//! use futures_util::StreamExt as _; // for `next`
//!
//! /// Items are numbered: `{"id":7,"price":…}`.
//! fn id(message: &redeliver::websocket::Message) -> Option<String> {
//!     let item: serde_json::Value = serde_json::from_str(message.to_text().ok()?).ok()?;
//!     Some(item["id"].as_u64()?.to_string())
//! }
//!
//! let socket = WebSocket::connect("wss://example.com/prices")
//!     .policy(Policy::RECONNECT)
//!     .resume(|last, next| match last.and_then(id) {
//!         None => next.say("subscribe prices"),
//!         Some(id) => next.query("after", &id), // the next request goes on where the last item was
//!     });
//! let handle = socket.handle(); // sends while the connection is up
//! let mut messages = std::pin::pin!(socket.stream()?);
//! while let Some(message) = messages.next().await {
//!     println!("{}", message?);
//! }
//! # drop(handle);
//! # Ok(()) }
//! ```
//!
//! - **Items** are text and binary messages, up to 1 MiB. Pings are answered, and sent; silence in spite of them is a loss.
//! - **The end**: a close with code 1000 is the end of the stream. 1002, 1003, 1007 to 1010, 3000 and 3003 say that the client is at
//!   fault, and are permanent; any other code, and a connection that breaks, is a loss.
//! - **A refused handshake** is judged by its status as every HTTP answer is: 408, 429 and 5xx come back, `Retry-After` is obeyed, the rest is
//!   permanent.

mod connection;
mod connector;
mod error;
mod handle;
mod handshake;

pub use connection::Socket;
pub use connector::{
    DEFAULT_IDLE_TIMEOUT, DEFAULT_KEEP_ALIVE, DEFAULT_MAX_MESSAGE_SIZE, WebSocket, WebSocketConnector,
    WebSocketStream,
};
pub use error::WebSocketError;
pub use handle::{SEND_QUEUE, SendError, WebSocketHandle};
pub use handshake::Handshake;
pub use tokio_tungstenite::tungstenite::Message;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{mpsc, oneshot};

use super::Message;

/// Messages that wait to be written, at most; a sender waits for a place.
pub const SEND_QUEUE: usize = 64;

/// A message on its way, and who wants to know that it was written.
pub(super) struct Outgoing {
    pub(super) message: Message,
    pub(super) written: oneshot::Sender<()>,
}

/// What a stream's connections, its connector and its handles share.
#[derive(Default)]
pub(super) struct Shared(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    queue: Option<mpsc::Sender<Outgoing>>,
    last: Option<Message>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection is up: where its handles' messages come out.
    pub(super) fn open(&self) -> mpsc::Receiver<Outgoing> {
        let (queue, outgoing) = mpsc::channel(SEND_QUEUE);
        self.lock().queue = Some(queue);
        outgoing
    }

    pub(super) fn close(&self) {
        self.lock().queue = None;
    }

    pub(super) fn remember(&self, message: &Message) {
        self.lock().last = Some(message.clone());
    }

    pub(super) fn last(&self) -> Option<Message> {
        self.lock().last.clone()
    }
}

/// Sends on whichever connection of a [`WebSocket`](super::WebSocket) is up.
///
/// Messages are written while the stream is polled. Nothing is kept for later: without a connection, sending fails at once.
#[derive(Clone)]
pub struct WebSocketHandle {
    pub(super) shared: Arc<Shared>,
}

impl WebSocketHandle {
    /// Sends a message, and returns once it was written to the socket; whether it arrived is the other side's to say.
    /// A future that is dropped while it waits may or may not have sent.
    ///
    /// # Errors
    /// [`SendError`] says whether the message may have been sent. It is never sent later.
    pub async fn send(&self, message: impl Into<Message>) -> Result<(), SendError> {
        let Some(queue) = self.shared.lock().queue.clone() else {
            return Err(SendError::NotConnected);
        };
        let (written, is_written) = oneshot::channel();
        let outgoing = Outgoing {
            message: message.into(),
            written,
        };
        queue.send(outgoing).await.map_err(|_| SendError::NotConnected)?;
        is_written.await.map_err(|_| SendError::Lost)
    }

    /// Whether a connection is up, as far as is known.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.lock().queue.is_some()
    }
}

impl fmt::Debug for WebSocketHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketHandle")
            .field("connected", &self.is_connected())
            .finish()
    }
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// There is no connection. Nothing was sent.
    NotConnected,
    /// The connection was lost before all of the message was written. Part of it may have been sent.
    Lost,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotConnected => "not connected; nothing was sent",
            Self::Lost => "the connection was lost before the message was written",
        })
    }
}

impl std::error::Error for SendError {}

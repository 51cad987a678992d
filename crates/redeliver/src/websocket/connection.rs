use std::{
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use futures_util::{SinkExt, StreamExt};
use tokio::{
    net::TcpStream,
    sync::{mpsc, oneshot},
};
use tokio_tungstenite::{MaybeTlsStream, tungstenite::protocol::CloseFrame};

use super::{
    Message, SEND_QUEUE, WebSocketError,
    handle::{Outgoing, Shared},
};
use crate::{clock::Timer, stream::Idle};

pub(super) type Wire = tokio_tungstenite::WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The other side gets this long to end the connection after it said goodbye.
const GOODBYE: Duration = Duration::from_secs(1);
const NORMAL: u16 = 1000;

/// One connection of a [`WebSocket`](super::WebSocket): reads messages, writes what handles send, pings.
pub struct Socket {
    wire: Wire,
    shared: Arc<Shared>,
    remembers: bool,
    outgoing: mpsc::Receiver<Outgoing>,
    /// Written but not flushed; never more than the queue holds.
    unflushed: Vec<oneshot::Sender<()>>,
    must_flush: bool,
    ping: Option<(Timer, Duration)>,
    idle: Option<Idle>,
    /// Writing failed. What was received before is read first: it may hold items, and the reason.
    broken: Option<WebSocketError>,
    farewell: Option<Farewell>,
}

struct Farewell {
    frame: Option<CloseFrame>,
    limit: Timer,
}

/// How a connection notices that the other side is gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vigilance {
    pub(super) ping_every: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
}

impl Socket {
    pub(super) fn new(wire: Wire, shared: Arc<Shared>, remembers: bool, vigilance: Vigilance) -> Self {
        // A ping each no time at all would keep the task busy for ever.
        let ping_every = vigilance.ping_every.filter(|every| !every.is_zero());
        Self {
            wire,
            outgoing: shared.open(),
            shared,
            remembers,
            unflushed: Vec::new(),
            must_flush: false,
            ping: ping_every.map(|every| (Timer::limit(every), every)),
            idle: vigilance.idle_timeout.map(Idle::new),
            broken: None,
            farewell: None,
        }
    }

    /// Writes what there is to write, as far as the socket takes it.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<Result<(), WebSocketError>> {
        if let Some((timer, every)) = &mut self.ping
            && Pin::new(&mut *timer).poll(context).is_ready()
        {
            *timer = Timer::limit(*every);
            // Polled once so that it wakes this task.
            let _ = Pin::new(timer).poll(context);
            self.start(Message::Ping(Vec::new().into()))?;
        }
        loop {
            if self.must_flush {
                ready!(self.wire.poll_flush_unpin(context)).map_err(WebSocketError::up)?;
                self.must_flush = false;
                for written in self.unflushed.drain(..) {
                    let _ = written.send(());
                }
            }
            while self.unflushed.len() < SEND_QUEUE
                && let Poll::Ready(Some(Outgoing { message, written })) = self.outgoing.poll_recv(context)
            {
                self.start(message)?;
                self.unflushed.push(written);
            }
            if !self.must_flush {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn start(&mut self, message: Message) -> Result<(), WebSocketError> {
        self.must_flush = true;
        self.wire.start_send_unpin(message).map_err(WebSocketError::up)
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Message, WebSocketError>>> {
        loop {
            let message = match ready!(self.wire.poll_next_unpin(context)) {
                Some(Ok(message)) => message,
                Some(Err(error)) => return Poll::Ready(Some(Err(WebSocketError::up(error)))),
                None => return Poll::Ready(Some(Err(WebSocketError::Dropped))),
            };
            if let Some(idle) = &mut self.idle {
                idle.heard();
            }
            match message {
                Message::Text(_) | Message::Binary(_) => {
                    if self.remembers {
                        self.shared.remember(&message);
                    }
                    return Poll::Ready(Some(Ok(message)));
                }
                Message::Close(frame) => {
                    self.shared.close();
                    self.farewell = Some(Farewell {
                        frame,
                        limit: Timer::limit(GOODBYE),
                    });
                    return self.poll_farewell(context);
                }
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Reading on sends the reply that the protocol asks for, and waits until the other side has ended the connection.
    fn poll_farewell(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Message, WebSocketError>>> {
        let Some(Farewell { frame, limit }) = &mut self.farewell else {
            return Poll::Ready(None);
        };
        while let Poll::Ready(read) = self.wire.poll_next_unpin(context) {
            if !matches!(read, Some(Ok(_))) {
                return Poll::Ready(goodbye(frame.take()));
            }
        }
        ready!(Pin::new(limit).poll(context));
        Poll::Ready(goodbye(frame.take()))
    }
}

fn goodbye(frame: Option<CloseFrame>) -> Option<Result<Message, WebSocketError>> {
    let code = frame.as_ref().map(|frame| u16::from(frame.code));
    if code == Some(NORMAL) {
        return None;
    }
    let reason = frame.map_or(String::new(), |frame| {
        frame.reason.as_str().replace(char::is_control, " ")
    });
    Some(Err(WebSocketError::Closed { code, reason }))
}

impl Stream for Socket {
    type Item = Result<Message, WebSocketError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.farewell.is_some() {
            return this.poll_farewell(context);
        }
        if this.broken.is_none()
            && let Poll::Ready(Err(error)) = this.poll_write(context)
        {
            this.broken = Some(error);
            this.shared.close();
            this.outgoing.close();
            drop(mem::take(&mut this.unflushed));
        }
        if let Poll::Ready(read) = this.poll_read(context) {
            return Poll::Ready(read);
        }
        if let Some(error) = this.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        match &mut this.idle {
            Some(idle) => idle
                .poll(context)
                .map(|longest| Some(Err(WebSocketError::Silent(longest)))),
            None => Poll::Pending,
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").finish_non_exhaustive()
    }
}

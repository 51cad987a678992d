use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use futures_core::Stream;

use super::{Parser, SseError, SseEvent};
use crate::stream::Idle;

/// What outlives a response.
#[derive(Default)]
pub(super) struct Shared(Mutex<Place>);

#[derive(Default)]
pub(super) struct Place {
    pub(super) last_event_id: String,
    pub(super) retry: Option<Duration>,
}

impl Shared {
    pub(super) fn place(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Body = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// One response of an [`EventSource`](super::EventSource).
pub struct SseResponse {
    /// `None` once the server has said that there is no more.
    body: Option<Body>,
    parser: Parser,
    chunk: Bytes,
    idle: Option<Idle>,
    shared: Arc<Shared>,
}

impl SseResponse {
    pub(super) fn new(
        body: Option<Body>,
        max_event_size: usize,
        idle: Option<Duration>,
        shared: Arc<Shared>,
    ) -> Self {
        let parser = Parser::new(max_event_size).resumed(&shared.place().last_event_id);
        Self {
            body,
            parser,
            chunk: Bytes::new(),
            idle: idle.map(Idle::new),
            shared,
        }
    }

    /// The next event of what has come.
    fn parse(&mut self) -> Result<Option<SseEvent>, SseError> {
        let mut rest: &[u8] = &self.chunk;
        let event = self.parser.feed(&mut rest).map_err(SseError::TooLarge)?;
        let read = self.chunk.len() - rest.len();
        self.chunk.advance(read);
        let mut place = self.shared.place();
        if place.last_event_id != self.parser.last_event_id() {
            self.parser.last_event_id().clone_into(&mut place.last_event_id);
        }
        if let Some(retry) = self.parser.take_retry() {
            place.retry = Some(retry);
        }
        Ok(event)
    }
}

impl Stream for SseResponse {
    type Item = Result<SseEvent, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.parse().transpose() {
                return Poll::Ready(Some(event));
            }
            let Some(body) = &mut this.body else {
                return Poll::Ready(None);
            };
            match (body.as_mut().poll_next(context), &mut this.idle) {
                (Poll::Ready(Some(Ok(chunk))), idle) => {
                    this.chunk = chunk;
                    if let Some(idle) = idle {
                        idle.heard();
                    }
                }
                (Poll::Ready(Some(Err(error))), _) => {
                    return Poll::Ready(Some(Err(SseError::network(error))));
                }
                (Poll::Ready(None), _) => return Poll::Ready(Some(Err(SseError::Ended))),
                (Poll::Pending, Some(idle)) => {
                    return idle
                        .poll(context)
                        .map(|longest| Some(Err(SseError::Silent(longest))));
                }
                (Poll::Pending, None) => return Poll::Pending,
            }
        }
    }
}

impl fmt::Debug for SseResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseResponse").finish_non_exhaustive()
    }
}

//! The connections to one server, kept for the next request.
//!
//! The lock is never held over an await, and nothing here waits for a connection that another request has: as many are made as there are
//! requests at a time, which a destination's concurrency bounds.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use http::{HeaderValue, Uri};
use redeliver::{Moment, clock};
use tokio::task::AbortHandle;
use tower_service::Service as _;

use super::{
    connect::{BoxError, Connector},
    connection::{Connected, Connection},
    failure::Failure,
};

/// How long an idle connection is kept. Many servers close theirs after five seconds, and a request that meets the closing of its
/// connection may or may not have arrived.
const IDLE: Duration = Duration::from_secs(4);
/// How many idle connections are kept.
const MOST_IDLE: usize = 256;

pub(super) struct Pool {
    pub(super) place: Place,
    connector: Connector,
    http2: bool,
    kept: Arc<Kept>,
    /// Who speaks nothing but HTTP/2 needs one connection, and whoever holds this makes it.
    connecting: tokio::sync::Mutex<()>,
}

/// Where all of its connections lead.
pub(super) struct Place {
    pub(super) url: Uri,
    /// The same as HTTP/1 names it.
    pub(super) host: HeaderValue,
}

impl Place {
    fn of(url: Uri) -> Self {
        let host = url.host().unwrap_or_default();
        let usual = match url.scheme_str() {
            Some("https") => 443,
            _ => 80,
        };
        let host = match url.port_u16().filter(|port| *port != usual) {
            Some(port) => HeaderValue::try_from(format!("{host}:{port}")),
            None => HeaderValue::from_str(host),
        };
        // What is a URL's host is a header's value.
        let host = host.unwrap_or_else(|_| HeaderValue::from_static(""));
        Self { url, host }
    }
}

impl Pool {
    pub(super) fn new(url: Uri, connector: Connector, http2: bool) -> Self {
        Self {
            place: Place::of(url),
            connector,
            http2,
            kept: Arc::default(),
            connecting: tokio::sync::Mutex::default(),
        }
    }

    /// Connections to another server, made in the same way.
    pub(super) fn to(&self, url: Uri) -> Self {
        Self::new(url, self.connector.clone(), self.http2)
    }

    /// A connection on which a request can be sent now, of those that were kept.
    pub(super) fn kept(&self, now: Moment) -> Option<Connection> {
        self.kept.take(now)
    }

    /// Another connection.
    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        let _alone = match self.http2 {
            true => Some(self.connecting.lock().await),
            false => None,
        };
        if let Some(shared) = self.kept.shared(clock::now()) {
            return Ok(shared);
        }
        let stream = self.stream().await.map_err(Failure::Unconnected)?;
        let connection = Connection::over(stream, self.http2).await?;
        Ok(self.kept.share(connection))
    }

    async fn stream(&self) -> Result<Connected, BoxError> {
        let mut connector = self.connector.clone();
        poll_fn(|context| connector.poll_ready(context)).await?;
        connector.call(self.place.url.clone()).await
    }

    /// Keeps a connection whose answer was read to its end.
    pub(super) fn keep(&self, connection: Connection) {
        self.kept.put(connection, clock::now());
    }
}

#[derive(Default)]
struct Kept(Mutex<State>);

#[derive(Default)]
struct State {
    /// Each with the time since when it is idle, the newest last.
    idle: Vec<(Connection, Moment)>,
    /// HTTP/2, and when it was last used.
    shared: Option<(Connection, Moment)>,
    sweeper: Option<AbortHandle>,
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, now: Moment) -> Option<Connection> {
        let mut state = self.state();
        if state.shared.is_some() {
            return state.shared(now);
        }
        // One that is not ready is closed, or has not yet got rid of a request that was answered before its end.
        let newest = state.idle.iter().rposition(|(idle, _)| idle.is_ready())?;
        let (connection, since) = state.idle.remove(newest);
        (now.since(since) < IDLE).then_some(connection)
    }

    fn shared(&self, now: Moment) -> Option<Connection> {
        self.state().shared(now)
    }

    /// Lets others use it too, if they can. If they already have another, it is that one.
    fn share(self: &Arc<Self>, connection: Connection) -> Connection {
        let Some(copy) = connection.shared() else {
            return connection;
        };
        let now = clock::now();
        let mut state = self.state();
        if let Some(earlier) = state.shared(now) {
            return earlier;
        }
        state.shared = Some((copy, now));
        self.sweep_later(&mut state);
        connection
    }

    fn put(self: &Arc<Self>, connection: Connection, now: Moment) {
        let mut state = self.state();
        if connection.shared().is_some() {
            if let Some((_, used)) = &mut state.shared {
                *used = now;
            }
            return;
        }
        if state.idle.len() >= MOST_IDLE {
            state.idle.retain(|(idle, _)| !idle.is_closed());
        }
        if state.idle.len() < MOST_IDLE {
            state.idle.push((connection, now));
        }
        self.sweep_later(&mut state);
    }

    fn sweep_later(self: &Arc<Self>, state: &mut State) {
        // It is finished before its time if the runtime that it was on is.
        if state.sweeper.as_ref().is_none_or(AbortHandle::is_finished) {
            let sweeper = tokio::spawn(sweep(Arc::downgrade(self)));
            state.sweeper = Some(sweeper.abort_handle());
        }
    }
}

impl State {
    fn shared(&mut self, now: Moment) -> Option<Connection> {
        let lives = |(shared, used): &(Connection, Moment)| !shared.is_closed() && now.since(*used) < IDLE;
        let (shared, used) = self.shared.as_mut().filter(|shared| lives(shared))?;
        *used = now;
        shared.shared()
    }

    /// Closes what was idle for too long. Whether anything is left.
    fn sweep(&mut self, now: Moment) -> bool {
        let lives = |(kept, since): &(Connection, Moment)| !kept.is_closed() && now.since(*since) < IDLE;
        self.idle.retain(lives);
        self.shared = self.shared.take().filter(lives);
        !self.idle.is_empty() || self.shared.is_some()
    }
}

/// Ends with the last connection, or with whoever keeps them.
async fn sweep(kept: Weak<Kept>) {
    loop {
        clock::sleep(IDLE).await;
        let Some(kept) = kept.upgrade() else {
            return;
        };
        let mut state = kept.state();
        if !state.sweep(clock::now()) {
            state.sweeper = None;
            return;
        }
    }
}

//! The listener, its connections, and the handle that ends them.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode, body::Incoming};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::sync::broadcast;

use super::body::{self, Body};
use super::chance::generator;
use super::config::FaultyConfig;
use super::exchange::{Exchange, Lab};
use super::payment::key_of;
use super::query::Query;
use super::reply::{Refusal, Reply};
use super::request::Call;
use super::route::{find, leaves_body_unread, serve};
use super::socket::FaultSocket;
use super::stats::{FaultyStats, RequestRecord};
use super::websocket::WebSocketSession;
use crate::listener::{Bounds, Listener, http};

/// Where the fault server begins.
pub struct Faulty;

impl Faulty {
    /// Binds and starts serving in the background, on the runtime it is called on.
    ///
    /// # Errors
    /// `InvalidInput` for a configuration out of range, whatever the bind fails with, and an error outside a runtime.
    pub fn start(config: FaultyConfig) -> io::Result<FaultyServer> {
        config
            .validate()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let (listen, bounds) = (
            config.listen,
            Bounds {
                connections: config.max_connections,
                age: config.max_connection_age,
            },
        );
        let lab = Arc::new(Lab::new(config));
        let shared = Arc::clone(&lab);
        let serve = move |stream| connection(Arc::clone(&shared), stream);
        let listener = Listener::start(listen, bounds, serve)?;
        Ok(FaultyServer { listener, lab })
    }
}

/// A running fault server; dropping it ends it and all its connections.
pub struct FaultyServer {
    listener: Listener,
    lab: Arc<Lab>,
}

impl FaultyServer {
    /// The address it listens on, with the port that it was given.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// `http://` and the address, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.local_addr())
    }

    /// The figures so far.
    pub fn stats(&self) -> FaultyStats {
        self.lab.stats()
    }

    /// One record per request from now on; a reader that is too slow misses the oldest and is told how many.
    pub fn records(&self) -> broadcast::Receiver<RequestRecord> {
        self.lab.records.subscribe()
    }

    /// Ends the listener and every connection, and waits until they are gone.
    pub async fn shutdown(self) {
        self.listener.shutdown(Duration::ZERO).await;
    }
}

type NextSession = Arc<Mutex<Option<(Box<WebSocketSession>, Exchange)>>>;

async fn connection(lab: Arc<Lab>, stream: TcpStream) {
    lab.count(|stats| stats.connections += 1);
    serve_connection(lab, FaultSocket::new(stream)).await;
}

async fn serve_connection(lab: Arc<Lab>, socket: FaultSocket) {
    let next_session = NextSession::default();
    let service = service_fn(|request| {
        answer(
            Arc::clone(&lab),
            socket.clone(),
            Arc::clone(&next_session),
            request,
        )
    });
    let served = http()
        .serve_connection(TokioIo::new(socket.clone()), service)
        .with_upgrades();
    // A connection that ends in an error is this server's trade.
    let _ = served.await;
    let session = next_session.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((session, exchange)) = session {
        session.run(exchange, socket).await;
    }
}

/// Tells hyper to let go of the connection without an answer.
#[derive(Debug, Error)]
#[error("the connection is cut on purpose")]
struct Cut;

async fn answer(
    lab: Arc<Lab>,
    socket: FaultSocket,
    next_session: NextSession,
    request: Request<Incoming>,
) -> Result<Response<Body>, Cut> {
    let (mut head, incoming) = request.into_parts();
    let path = head.uri.path().to_owned();
    let found = find(&path);
    let route = found.map_or("(none)", |(row, _)| row.path);
    let key = key_of(&head.headers).map(str::to_owned);
    let mut exchange = Exchange::open(&lab, route, head.method.to_string(), path.clone(), key);

    let mut call = Call {
        query: Query::parse(head.uri.query().unwrap_or_default()),
        body: bytes::Bytes::new(),
        value: found.map(|(_, value)| value.to_owned()).unwrap_or_default(),
        rng: generator(lab.config.seed, exchange.number()),
        upgrade: head.extensions.remove::<OnUpgrade>(),
        method: head.method,
        uri: head.uri,
        headers: head.headers,
    };
    let served = async {
        let Some((row, _)) = found else {
            let words = "no such path; GET / lists those there are".to_owned();
            return Err(Refusal::new(StatusCode::NOT_FOUND, words));
        };
        if !leaves_body_unread(row.route) {
            call.body = body::read(incoming, lab.config.max_body).await?;
        }
        serve(row, &mut call, &mut exchange, &socket).await
    };
    match Box::pin(served).await.unwrap_or_else(Reply::from) {
        Reply::Answer { fault, response } => {
            exchange.tell(fault, Some(response.status().as_u16()));
            Ok(response)
        }
        Reply::Cut { fault, status } => {
            exchange.tell(fault, status);
            Err(Cut)
        }
        Reply::Upgrade { response, session } => {
            *next_session.lock().unwrap_or_else(PoisonError::into_inner) = Some((session, exchange));
            Ok(response)
        }
    }
}

//! Taking connections: bounded in number, patient only for so long, and ended with a farewell.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use redeliver::clock;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

/// The most connections at a time; the next ones wait in the system's queue.
const CONNECTIONS: usize = 512;
/// How long the head of a request may take to arrive.
const HEAD_WITHIN: Duration = Duration::from_secs(15);
/// How long requests that are under way are waited for at the end.
const FAREWELL: Duration = Duration::from_secs(3);
/// How soon it is tried again after the system had no room for a connection.
const AGAIN: Duration = Duration::from_millis(100);

/// An address that is taken, and not answered at yet.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listening {
    pub(crate) async fn at(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where a browser on this machine goes.
    pub(crate) fn url(&self) -> String {
        match self.address.ip().is_unspecified() {
            true => format!("http://localhost:{}/", self.address.port()),
            false => format!("http://{}/", self.address),
        }
    }

    /// Answers until the end is asked for; then what is under way is finished, within reason.
    pub(crate) async fn answer(self, router: Router, end: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        tokio::select! {
            () = end => {}
            () = accept(&self.listener, &router, &graceful, &places) => {}
        }
        drop(self.listener);
        tokio::select! {
            () = graceful.shutdown() => {}
            () = clock::sleep(FAREWELL) => {}
        }
    }
}

async fn accept(
    listener: &TcpListener,
    router: &Router,
    graceful: &GracefulShutdown,
    places: &Arc<Semaphore>,
) {
    loop {
        let Ok(place) = Arc::clone(places).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // A client that left at once, or a system without room: neither ends the server.
            Err(_) => {
                clock::sleep(AGAIN).await;
                continue;
            }
        };
        let connection = connection(stream, router.clone(), graceful);
        tokio::spawn(async move {
            connection.await;
            drop(place);
        });
    }
}

fn connection(
    stream: TcpStream,
    router: Router,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + 'static {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let watched = graceful.watch(connection.into_owned());
    async move {
        // A client that went away in the middle is nobody's error.
        let _ended = watched.await;
    }
}

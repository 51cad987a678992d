//! Connections to a server of the lab's own: how many at once, how long each, and the handle that ends them.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::faulty::pause;

const LARGEST_HEAD: usize = 64 * 1024;
const LONGEST_HEAD: Duration = Duration::from_secs(60);
const AFTER_A_FAILED_ACCEPT: Duration = Duration::from_millis(50);

/// What bounds the connections of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Connections served at once; further ones wait in the listener's backlog.
    pub(crate) connections: usize,
    /// Longest life of a connection.
    pub(crate) age: Duration,
}

/// A server that runs; dropping it ends it and all its connections.
pub(crate) struct Listener {
    address: SocketAddr,
    stop: Option<oneshot::Sender<Duration>>,
    accepting: JoinHandle<()>,
}

impl Listener {
    /// Binds and serves in the background, on the runtime it is called on.
    pub(crate) fn start<F>(
        address: SocketAddr,
        bounds: Bounds,
        serve: impl Fn(TcpStream) -> F + Send + 'static,
    ) -> io::Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let listener = StdListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let (stop, stopped) = oneshot::channel();
        let accepting = runtime.spawn(accept_loop(listener, bounds, serve, stopped));
        Ok(Self {
            address,
            stop: Some(stop),
            accepting,
        })
    }

    /// The address, with the port that it was given.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the listener, gives connections this long to end by themselves, and waits until they are gone.
    pub(crate) async fn shutdown(mut self, grace: Duration) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(grace);
        }
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept_loop<F>(
    listener: TcpListener,
    bounds: Bounds,
    serve: impl Fn(TcpStream) -> F,
    mut stopped: oneshot::Receiver<Duration>,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let grace = loop {
        let room = connections.len() < bounds.connections;
        tokio::select! {
            grace = &mut stopped => break grace.unwrap_or_default(),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if room => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let served = Box::pin(serve(stream));
                    connections.spawn(async move { drop(tokio::time::timeout(bounds.age, served).await) });
                }
                // Out of descriptors, mostly: connections that end make room.
                Err(_) => pause(AFTER_A_FAILED_ACCEPT).await,
            },
        }
    };
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(grace, all).await;
    connections.shutdown().await;
}

/// HTTP with bounds on what is read before a request is known.
pub(crate) fn http() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST_HEAD)
        .max_buf_size(LARGEST_HEAD);
    builder
}

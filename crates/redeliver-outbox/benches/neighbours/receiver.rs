use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use redeliver::clock;
use tokio::{net::TcpListener, runtime::Builder, sync::Notify};

#[derive(Debug, Default)]
struct Taken {
    /// How long after its insert each message came.
    waits: Vec<Duration>,
    expected: usize,
}

/// Takes everything at once, on a thread of its own. The first destination does not count: it is the one that gets into trouble.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    taken: Arc<Mutex<Taken>>,
    complete: Arc<Notify>,
}

impl Receiver {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (send, receive) = mpsc::channel();
        let (taken, complete) = (Arc::<Mutex<Taken>>::default(), Arc::<Notify>::default());
        let (inside, done) = (Arc::clone(&taken), Arc::clone(&complete));
        thread::spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let _ = send.send(listener.local_addr()?);
                loop {
                    let (stream, _) = listener.accept().await?;
                    stream.set_nodelay(true)?;
                    let (taken, complete) = (Arc::clone(&inside), Arc::clone(&done));
                    let service = service_fn(move |request| {
                        let (taken, complete) = (Arc::clone(&taken), Arc::clone(&complete));
                        async move { take(request, &taken, &complete).await }
                    });
                    tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
                }
                #[expect(unreachable_code, reason = "the type of what went wrong")]
                Ok::<(), io::Error>(())
            })
        });
        let address = receive.recv().map_err(io::Error::other)?;
        Ok(Self {
            address,
            taken,
            complete,
        })
    }

    /// Begins to count again, to so many.
    pub(crate) fn expect(&self, count: usize) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.waits.clear();
        taken.expected = count;
    }

    /// Until all that are expected have come.
    pub(crate) async fn all(&self) {
        self.complete.notified().await;
    }

    pub(crate) fn p99(&self) -> Duration {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.waits.sort_unstable();
        let place = taken.waits.len() * 99 / 100;
        taken.waits.get(place).copied().unwrap_or_default()
    }
}

async fn take(
    request: Request<Incoming>,
    taken: &Mutex<Taken>,
    complete: &Notify,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let counts = request.uri().path() != "/0";
    let body = request.into_body().collect().await.map(|body| body.to_bytes());
    let inserted = body
        .ok()
        .and_then(|body| str::from_utf8(&body).ok()?.parse().ok());
    if let Some(inserted) = inserted.filter(|_| counts) {
        let wait = Duration::from_nanos(clock::now().as_nanos().saturating_sub(inserted));
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.waits.push(wait);
        if taken.waits.len() == taken.expected {
            complete.notify_one();
        }
    }
    Ok(Response::new(Full::new(Bytes::from_static(b"ok"))))
}

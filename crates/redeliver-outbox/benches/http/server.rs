use std::{convert::Infallible, io, net::SocketAddr, sync::mpsc, thread};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, runtime::Builder};

/// Takes everything, on a thread of its own.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let _ = send.send(listener.local_addr()?);
                loop {
                    let (stream, _) = listener.accept().await?;
                    stream.set_nodelay(true)?;
                    let connection =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(take));
                    tokio::spawn(connection);
                }
                #[expect(unreachable_code, reason = "the type of what went wrong")]
                Ok::<(), io::Error>(())
            })
        });
        let address = receive.recv().map_err(io::Error::other)?;
        Ok(Self { address })
    }
}

async fn take(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let _ = request.into_body().collect().await;
    Ok(Response::new(Full::new(Bytes::from_static(b"ok"))))
}

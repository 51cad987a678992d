//! What hyper does without us.

use std::{error::Error, net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo},
};
use redeliver::clock;
use tokio::net::TcpStream;

type Outcome = Result<Duration, Box<dyn Error>>;

/// With the headers that the relay sends, so that the same bytes go over the wire; none of them is made for the request.
fn request(uri: &str, host: &str, body: &Bytes) -> Result<Request<Full<Bytes>>, http::Error> {
    Request::post(uri)
        .header("host", host)
        .header("user-agent", "redeliver/0.1.0")
        .header("content-type", "application/json")
        .header("idempotency-key", "00000000-0000-802a-9f86-d081884c7d65")
        .header("redeliver-attempt", "1")
        .body(Full::new(body.clone()))
}

/// As many connections as requests at a time, each with its own task.
pub(crate) async fn connections(
    address: SocketAddr,
    requests: usize,
    concurrency: usize,
    body: usize,
) -> Outcome {
    let body = Bytes::from(vec![b'x'; body]);
    let began = clock::now();
    let host = address.to_string();
    try_join_all((0..concurrency).map(|connection| {
        let (body, host) = (&body, &host);
        async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (mut sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(driver);
            for _ in (connection..requests).step_by(concurrency) {
                sender.ready().await?;
                let answer = sender.send_request(request("/hook", host, body)?).await?;
                answer.into_body().collect().await?;
            }
            Ok::<(), Box<dyn Error>>(())
        }
    }))
    .await?;
    Ok(clock::now().since(began))
}

/// The client that keeps its connections itself.
pub(crate) async fn pooled(url: String, requests: usize, concurrency: usize, body: usize) -> Outcome {
    let body = Bytes::from(vec![b'x'; body]);
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let began = clock::now();
    try_join_all((0..concurrency).map(|lane| {
        let (client, body, url) = (&client, &body, &url);
        async move {
            for _ in (lane..requests).step_by(concurrency) {
                let answer = client.request(request(url, "localhost", body)?).await?;
                answer.into_body().collect().await?;
            }
            Ok::<(), Box<dyn Error>>(())
        }
    }))
    .await?;
    Ok(clock::now().since(began))
}

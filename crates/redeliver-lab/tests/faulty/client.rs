//! A client written by hand: it must see what a library would hide.

use std::future::Future;
use std::io;
use std::time::Duration;

use redeliver_lab::faulty::{Faulty, FaultyConfig, FaultyServer, RequestRecord};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::broadcast::Receiver;
use tokio::time::timeout;

/// Everything a connection gave until it ended, and how it ended.
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Every byte that came after the head, chunk sizes included.
    pub(crate) raw: Vec<u8>,
    pub(crate) end: io::Result<()>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// A server without delays, so that a test waits for events only.
pub(crate) fn start(mut config: FaultyConfig) -> FaultyServer {
    config.max_delay = Duration::ZERO;
    Faulty::start(config).unwrap()
}

/// No test waits for ever.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), future)
        .await
        .expect("nothing happened for 30 s")
}

/// True if the future is still waiting after a moment: how the absence of an answer is seen.
pub(crate) async fn still_waits<T>(future: impl Future<Output = T>) -> bool {
    timeout(Duration::from_millis(150), future).await.is_err()
}

pub(crate) async fn connect(server: &FaultyServer) -> TcpStream {
    soon(TcpStream::connect(server.local_addr())).await.unwrap()
}

/// Sends a request and leaves the connection to the caller.
pub(crate) async fn open(
    server: &FaultyServer,
    method: &str,
    target: &str,
    headers: &str,
    body: &str,
) -> TcpStream {
    let mut stream = connect(server).await;
    let length = body.len();
    let close = if headers.contains("upgrade") {
        ""
    } else {
        "connection: close\r\n"
    };
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: test\r\n{close}content-length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

pub(crate) async fn send(
    server: &FaultyServer,
    method: &str,
    target: &str,
    headers: &str,
    body: &str,
) -> Seen {
    let mut stream = open(server, method, target, headers, body).await;
    let mut bytes = Vec::new();
    let end = soon(stream.read_to_end(&mut bytes)).await.map(|_| ());
    parse(&bytes, end)
}

pub(crate) async fn get(server: &FaultyServer, target: &str) -> Seen {
    send(server, "GET", target, "", "").await
}

fn parse(bytes: &[u8], end: io::Result<()>) -> Seen {
    let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Seen {
            status: 0,
            headers: Vec::new(),
            body: bytes.to_vec(),
            raw: bytes.to_vec(),
            end,
        };
    };
    let head = std::str::from_utf8(&bytes[..at]).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| line.split_once(": ").unwrap());
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let raw = bytes[at + 4..].to_vec();
    let mut body = raw.clone();
    if headers
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value == "chunked")
    {
        body = unchunk(&body);
    }
    Seen {
        status,
        headers,
        body,
        raw,
        end,
    }
}

/// The content of the chunks that came whole.
fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    while let Some(at) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..at]).unwrap(), 16).unwrap();
        let Some(chunk) = bytes.get(at + 2..at + 2 + size) else {
            break;
        };
        content.extend_from_slice(chunk);
        bytes = bytes.get(at + 2 + size + 2..).unwrap_or_default();
    }
    content
}

/// The next record that `wanted` accepts.
pub(crate) async fn record(
    records: &mut Receiver<RequestRecord>,
    wanted: impl Fn(&RequestRecord) -> bool,
) -> RequestRecord {
    loop {
        let record = soon(records.recv()).await.unwrap();
        if wanted(&record) {
            return record;
        }
    }
}

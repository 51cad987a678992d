//! What a test sees of a call: each exchange, measured.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redeliver::http::{Client, RequestBuilder};
use redeliver::{Jitter, Moment, Policy};
use redeliver_lab::faulty::{Faulty, FaultyConfig, FaultyServer};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Three attempts, a millisecond apart.
pub(crate) const QUICK: Policy = Policy::fixed(Duration::from_millis(1))
    .jitter(Jitter::None)
    .max_attempts(3)
    .attempt_timeout(Duration::from_secs(20));

pub(crate) fn client(policy: Policy) -> Client {
    Client::new(policy)
}

pub(crate) fn start() -> FaultyServer {
    Faulty::start(FaultyConfig {
        max_delay: Duration::ZERO,
        ..FaultyConfig::default()
    })
    .unwrap()
}

pub(crate) fn url(server: &FaultyServer, target: &str) -> String {
    format!("{}{target}", server.base_url())
}

/// Requests that the server has seen on one path of its table.
pub(crate) fn requests(server: &FaultyServer, path: &str) -> u64 {
    server.stats().routes.get(path).map_or(0, |route| route.requests)
}

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) began: Moment,
    pub(crate) ended: Moment,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) cut: bool,
}

/// Collects the exchanges of one call.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Seen>>>);

impl Log {
    pub(crate) fn watch(&self, request: RequestBuilder) -> RequestBuilder {
        let log = Arc::clone(&self.0);
        request.on_exchange(move |exchange| {
            log.lock().unwrap().push(Seen {
                began: exchange.began,
                ended: exchange.began.plus(exchange.took),
                retry_after: exchange.retry_after,
                cut: exchange.cut,
            });
        })
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }

    /// The waits between attempts, each with what the server had asked for.
    pub(crate) fn waits(&self) -> Vec<(Duration, Option<Duration>)> {
        let seen = self.seen();
        seen.windows(2)
            .map(|pair| (pair[1].began.since(pair[0].ended), pair[0].retry_after))
            .collect()
    }
}

/// A server that says word for word what it is told to, one connection an answer; the request lines it saw. Connections stay open
/// until the last answer was given.
pub(crate) async fn scripted<const N: usize>(
    answers: [&'static str; N],
) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/here", listener.local_addr().unwrap());
    let seen = tokio::spawn(async move {
        let (mut lines, mut open) = (Vec::new(), Vec::new());
        for answer in answers {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            lines.push(line.trim_end().to_owned());
            while line != "\r\n" {
                line.clear();
                stream.read_line(&mut line).await.unwrap();
            }
            let answer = format!(
                "HTTP/1.1 {}",
                answer.replacen("\r\n", "\r\nconnection: close\r\n", 1)
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
            open.push(stream);
        }
        lines
    });
    (url, seen)
}

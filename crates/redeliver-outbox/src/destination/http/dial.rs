//! From a host to a TCP connection, past the guard.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use futures_core::future::BoxFuture;
use http::Uri;
use hyper_util::{
    client::legacy::connect::{HttpConnector, dns::Name},
    rt::TokioIo,
};
use redeliver::cause;
use tower_service::Service;

use super::{connect::BoxError, guard::Guard, proxy::Proxy, stream::Stream};

/// How much of an answer may wait in the system's memory, in bytes. Answers are short, and connections may be many.
const WAITING: usize = 64 << 10;

/// What knows the addresses of a name.
pub(super) type Lookup = Arc<dyn Fn(Name) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The system's own way to look a name up.
pub(super) fn system() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.collect())
        })
    })
}

/// Asks for a name once, and connects to what was answered and checked: there is no second answer that could be another.
#[derive(Clone)]
pub(super) struct Dialer {
    tcp: HttpConnector<Checked>,
    guard: Guard,
    proxy: Option<Proxy>,
}

impl Dialer {
    pub(super) fn new(lookup: Lookup, guard: Guard, proxy: Option<Proxy>) -> Self {
        // The proxy is where whoever configures the relay says that it is.
        let checks = if proxy.is_some() { Guard::OFF } else { guard };
        let mut tcp = HttpConnector::new_with_resolver(Checked {
            lookup,
            guard: checks,
        });
        tcp.set_nodelay(true);
        tcp.set_recv_buffer_size(Some(WAITING));
        tcp.enforce_http(false);
        Self { tcp, guard, proxy }
    }

    /// The proxy on the way.
    pub(super) const fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }
}

fn refuse(reason: String) -> BoxError {
    io::Error::new(io::ErrorKind::PermissionDenied, reason).into()
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<Stream>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<TokioIo<Stream>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let guard = self.guard;
        if let Err(problem) = guard.host(uri.host().unwrap_or_default()) {
            return Box::pin(std::future::ready(Err(refuse(format!("it {problem}")))));
        }
        if let Some(proxy) = self.proxy.clone() {
            let connecting = self.tcp.call(proxy.address.clone());
            return Box::pin(async move { Ok(TokioIo::new(through(&proxy, connecting, &uri).await?)) });
        }
        let connecting = self.tcp.call(uri);
        Box::pin(async move {
            let tcp = connecting.await?.into_inner();
            let peer = tcp.peer_addr()?.ip();
            guard
                .address(peer)
                .map_err(|problem| refuse(format!("the connection leads to {problem}")))?;
            Ok(TokioIo::new(Stream::new(tcp)))
        })
    }
}

type Connecting = <HttpConnector<Checked> as Service<Uri>>::Future;

async fn through(proxy: &Proxy, connecting: Connecting, uri: &Uri) -> Result<Stream, BoxError> {
    let tcp = connecting.await.map_err(|error| {
        let problem = cause::root(&error);
        io::Error::other(format!("{proxy} cannot be reached: {problem}"))
    })?;
    let mut stream = Stream::new(tcp.into_inner());
    if uri.scheme_str() == Some("http") {
        return Ok(stream.read_by_a_proxy());
    }
    let host = format!(
        "{}:{}",
        uri.host().unwrap_or_default(),
        uri.port_u16().unwrap_or(443)
    );
    proxy.open(&mut stream, &host).await.map_err(io::Error::other)?;
    Ok(stream)
}

/// Addresses that were all checked. One that is refused is enough: whoever mixes them means the refused one.
#[derive(Clone)]
pub(super) struct Checked {
    lookup: Lookup,
    guard: Guard,
}

impl Service<Name> for Checked {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (asking, guard) = ((self.lookup)(name), self.guard);
        Box::pin(async move {
            let addresses = asking.await?;
            for address in &addresses {
                guard
                    .address(address.ip())
                    .map_err(|problem| refuse(format!("its name leads to {problem}")))?;
            }
            Ok(addresses.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr},
        sync::Mutex,
        time::Duration,
    };

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;
    use crate::{
        Message, MessageId, Timestamp,
        destination::{Delivery, Destination as _, Http, Outcome},
    };

    const PUBLIC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
    const PRIVATE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

    /// A machine has no public address to listen at, so that one of its own stands for them.
    fn all_but_one(address: IpAddr) -> Option<&'static str> {
        (address != PUBLIC).then_some("private")
    }

    /// One answer after the other, and how many are left.
    fn answers(given: Vec<Vec<Ipv4Addr>>) -> (Lookup, Arc<Mutex<vec::IntoIter<Vec<Ipv4Addr>>>>) {
        let left = Arc::new(Mutex::new(given.into_iter()));
        let answers = Arc::clone(&left);
        let lookup: Lookup = Arc::new(move |_| {
            let answer = answers.lock().unwrap().next().unwrap();
            let found = answer.into_iter().map(|ip| SocketAddr::from((ip, 0))).collect();
            Box::pin(std::future::ready(Ok(found)))
        });
        (lookup, left)
    }

    async fn deliver(http: &Http) -> Outcome {
        let message = Message {
            id: MessageId::new(1, 1),
            shard: 0,
            destination: "billing".to_owned(),
            topic: None,
            key: None,
            payload: "{}".into(),
            content_type: None,
            headers: None,
            traceparent: None,
            not_before: None,
            expires_at: None,
            created_at: Timestamp::from_millis(0),
            attempts: 0,
            redrives: 0,
            next_attempt_at: None,
            last_attempt_at: None,
            last_error: None,
            last_wait_ms: 0,
            interrupted: false,
            withheld: None,
            unreadable_key: false,
        };
        let delivery = Delivery {
            message: &message,
            attempt: 1,
            timeout: Duration::from_secs(30),
        };
        http.deliver(delivery).await
    }

    fn refused(outcome: &Outcome, port: u16, words: &str) {
        let Outcome::Unreachable { reason } = outcome else {
            panic!("{outcome:?}");
        };
        let start = format!("cannot connect to http://shop.example:{port}: {words}");
        assert!(reason.starts_with(&start), "{reason}");
        assert!(
            reason.ends_with("set allow_private = true on this destination"),
            "{reason}"
        );
    }

    #[tokio::test]
    async fn a_name_that_becomes_private_is_refused_from_then_on() {
        let public = TcpListener::bind((PUBLIC, 0)).await.unwrap();
        let port = public.local_addr().unwrap().port();
        let private = TcpListener::bind((PRIVATE, port)).await.unwrap();
        let (lookup, left) = answers(vec![
            vec![PUBLIC],
            vec![PRIVATE],
            vec![PUBLIC, PRIVATE],
            vec![PUBLIC],
        ]);
        let http = Http::to(format!("http://shop.example:{port}/"))
            .found_by(lookup, Guard::refusing(all_but_one))
            .build()
            .unwrap();
        let answered = async {
            for _ in 0..2 {
                let (mut socket, _) = public.accept().await.unwrap();
                let mut request = [0; 4];
                socket.read_exact(&mut request).await.unwrap();
                assert_eq!(&request, b"POST");
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                socket.write_all(answer).await.unwrap();
            }
        };
        let delivered = async {
            assert_eq!(deliver(&http).await, Outcome::Delivered);
            assert_eq!(left.lock().unwrap().len(), 3, "one connection asks once");
            for _ in 0..2 {
                refused(
                    &deliver(&http).await,
                    port,
                    "its name leads to 127.0.0.2, which is private;",
                );
            }
            assert_eq!(deliver(&http).await, Outcome::Delivered);
            assert_eq!(left.lock().unwrap().len(), 0);
        };
        tokio::select! {
            biased;
            _ = private.accept() => panic!("it went to the private address"),
            _ = async { tokio::join!(answered, delivered) } => {}
        }
    }

    /// What is dialled and who answers need not be the same: 0.0.0.0 is answered by this machine.
    #[tokio::test]
    async fn whoever_answers_is_checked_before_a_byte_is_sent() {
        fn all_but_unspecified(address: IpAddr) -> Option<&'static str> {
            (!address.is_unspecified()).then_some("loopback")
        }
        let listener = TcpListener::bind((PUBLIC, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (lookup, _) = answers(vec![vec![Ipv4Addr::UNSPECIFIED]]);
        let http = Http::to(format!("http://shop.example:{port}/"))
            .found_by(lookup, Guard::refusing(all_but_unspecified))
            .build()
            .unwrap();
        let (outcome, accepted) = tokio::join!(deliver(&http), listener.accept());
        refused(
            &outcome,
            port,
            "the connection leads to 127.0.0.1, which is loopback;",
        );
        let mut sent = Vec::new();
        let end = accepted.unwrap().0.read_to_end(&mut sent).await;
        assert!(sent.is_empty(), "{end:?} {sent:?}");
    }

    #[tokio::test]
    async fn a_literal_is_checked_again_when_a_connection_is_made() {
        let mut dialer = Dialer::new(system(), Guard::ON, None);
        for host in ["127.0.0.1", "[::1]", "0x7f.1", "localhost"] {
            let uri = format!("http://{host}:1/").parse().unwrap();
            let error = dialer.call(uri).await.unwrap_err().to_string();
            assert!(error.contains("loopback"), "{host}: {error}");
        }
    }
}

//! A look at where requests would go, without one.

use std::{error::Error, io, time::Duration};

use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use redeliver::{cause, clock, duration};
use rustls::{CertificateError, ClientConnection, Error as Tls, ProtocolVersion, pki_types::CertificateDer};
use tokio::io::AsyncReadExt as _;
use tower_service::Service as _;

use super::{
    Http, Time, certificate::Certificate, connect::BoxError, connection::Connected, failure, guard,
    network::Connections, oauth::Tokens, request::Shape, witness::Witness,
};
use crate::desk::{Finding, Grade};

/// With TLS 1.3, a server that does not take the client's certificate says so only after the handshake, one way later.
const AFTERTHOUGHT: Duration = Duration::from_millis(500);

pub(super) async fn look(http: &Http, limit: Duration) -> Vec<Finding> {
    let time = Time {
        began: clock::now(),
        limit,
    };
    let mut findings = secrets(&http.shape);
    if let Some(shown) = &http.connections.tls.shown {
        findings.push(validity("client certificate", shown));
    }
    let place = http.shape.target.base();
    findings.extend(connection(&http.connections, place, &http.origin, time).await);
    if let Some(tokens) = &http.tokens {
        findings.extend(token(&http.connections, tokens, time).await);
    }
    findings
}

/// What was read is well-formed, or there would be no destination; an empty variable is what nobody notices.
fn secrets(shape: &Shape) -> Vec<Finding> {
    let mut findings: Vec<Finding> = shape
        .fixed
        .iter()
        .filter(|(_, value)| value.as_bytes().trim_ascii().is_empty())
        .map(|(name, _)| {
            let next = "set the variable or the file that it comes from";
            Finding::problem("headers", format!("the header {name} is empty"), next)
        })
        .collect();
    if !shape.secrets.is_empty() {
        let count = shape.secrets.len();
        let kinds: Vec<&str> = shape.secrets.iter().map(|secret| secret.version()).collect();
        let secrets = if count == 1 { "secret" } else { "secrets" };
        let what = format!("{count} {secrets} to sign with: {}", kinds.join(", "));
        findings.push(Finding::good("signatures", what));
    }
    findings
}

async fn token(connections: &Connections, tokens: &Tokens, time: Time) -> Vec<Finding> {
    let mut findings = connection(connections, tokens.url(), tokens.origin(), time).await;
    for finding in &mut findings {
        finding.topic = "token endpoint";
    }
    if findings.iter().any(|finding| finding.grade == Grade::Problem) {
        return findings;
    }
    let fetched = tokio::time::timeout(time.left(), tokens.header(connections, None)).await;
    findings.push(match fetched {
        Ok(Ok(_)) => Finding::good("token", format!("{} gives a token", tokens.origin())),
        Ok(Err(reason)) => {
            let next = "correct auth.oauth2 in the configuration, or ask whoever runs the token endpoint";
            Finding::problem("token", reason, next)
        }
        Err(_) => late("token", &format!("no token from {}", tokens.origin()), time.limit),
    });
    findings
}

async fn connection(connections: &Connections, place: &Uri, origin: &str, time: Time) -> Vec<Finding> {
    let (witness, tls) = Witness::of(&connections.tls);
    let mut connector = connections.way.clone().connector(tls);
    let began = clock::now();
    let connected = tokio::time::timeout(time.left(), connector.call(place.clone())).await;
    let (seen, took) = (witness.seen(), clock::now().since(began));
    match connected {
        Ok(Ok(stream)) => {
            let mut findings = reached(connections, origin, &stream, seen, took);
            if let MaybeHttpsStream::Https(_) = stream {
                findings.extend(afterthought(stream, time).await);
            }
            findings
        }
        Ok(Err(error)) => vec![unreached(origin, &error, seen)],
        Err(_) => vec![late(
            "connection",
            &format!("no connection to {origin}"),
            time.limit,
        )],
    }
}

fn reached(
    connections: &Connections,
    origin: &str,
    stream: &Connected,
    seen: Option<&CertificateDer<'static>>,
    took: Duration,
) -> Vec<Finding> {
    let took = duration::display(rounded(took));
    let (tcp, tls) = match stream {
        MaybeHttpsStream::Http(tcp) => (tcp.inner(), None),
        MaybeHttpsStream::Https(tls) => {
            let (tcp, tls) = tls.inner().get_ref();
            (tcp.inner().inner(), Some(tls))
        }
    };
    let peer = tcp.peer();
    let address = peer
        .as_ref()
        .map_or_else(ToString::to_string, ToString::to_string);
    let proxy = connections.way.dialer.proxy();
    let what = match proxy {
        None => format!("{origin} is at {address}, reached in {took}"),
        Some(proxy) => format!("{origin} is reached through {proxy} at {address}, in {took}"),
    };
    let mut findings = vec![Finding::good("connection", what)];
    let Some(tls) = tls else {
        let near = peer.is_ok_and(|peer| guard::refused(peer.ip()).is_some()) && proxy.is_none();
        findings.push(plain(connections.http2, near));
        return findings;
    };
    findings.push(Finding::good("protocol", spoken(connections.http2, tls)));
    if let Some(certificate) = seen {
        findings.push(validity("certificate", certificate));
    }
    findings
}

fn plain(http2: bool, near: bool) -> Finding {
    let version = if http2 { "HTTP/2" } else { "HTTP/1.1" };
    match near {
        true => Finding::good("protocol", format!("{version} without TLS, to a private address")),
        false => Finding::advice(
            "protocol",
            format!("{version} without TLS: whoever is on the way reads and changes what is sent"),
            "let url begin with https:// if the server speaks it",
        ),
    }
}

fn spoken(http2: bool, tls: &ClientConnection) -> String {
    let version = match tls.alpn_protocol() {
        Some(b"h2") => "HTTP/2",
        None if http2 => "HTTP/2",
        _ => "HTTP/1.1",
    };
    let encrypted = match tls.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => "TLS 1.2",
        _ => "TLS 1.3",
    };
    format!("{version} over {encrypted}")
}

/// What the server says although nobody has asked, if that is bad.
async fn afterthought(stream: Connected, time: Time) -> Option<Finding> {
    let (mut stream, mut said) = (TokioIo::new(stream), [0; 1]);
    let wait = AFTERTHOUGHT.min(time.left());
    let error = match tokio::time::timeout(wait, stream.read(&mut said)).await.ok()? {
        Ok(0) => io::Error::from(io::ErrorKind::UnexpectedEof),
        Ok(_) => return None,
        Err(error) => error,
    };
    Some(match failure::is_refusal(&error) {
        true => Finding::problem(
            "client certificate",
            failure::why(&error),
            "name the one that the server knows with client_certificate and client_key",
        ),
        false => Finding::advice(
            "connection",
            format!(
                "it was closed before anything was asked: {}",
                failure::why(&error)
            ),
            "look at the server's log",
        ),
    })
}

fn unreached(origin: &str, error: &BoxError, seen: Option<&CertificateDer<'static>>) -> Finding {
    let error: &(dyn Error + 'static) = &**error;
    let why = failure::why(error);
    if let Some(Tls::InvalidCertificate(fault)) = failure::tls(error) {
        let described = seen.and_then(|seen| Certificate::read(seen));
        let described = described.map_or(String::new(), |read| format!("{}: ", read.described()));
        let next = match fault {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "renew it on the server, or compare the clocks"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "let url name a host that it is for, or get one for the host in url"
            }
            CertificateError::UnknownIssuer => {
                "if the authority is your own, name its certificate with ca; if not, the server does not send all that lead to one"
            }
            _ => "get another one for the server",
        };
        return Finding::problem("certificate", format!("{described}{why}"), next);
    }
    Finding::problem(
        "connection",
        format!("cannot connect to {origin}: {why}"),
        next(error),
    )
}

fn next(error: &(dyn Error + 'static)) -> &'static str {
    if failure::is_refusal(error) {
        return "name the certificate that the server knows with client_certificate and client_key";
    }
    if failure::tls(error).is_some() {
        return "see whether url has the right scheme and port";
    }
    let is = |kind: io::ErrorKind| {
        let mut errors = cause::chain(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
        errors.any(|error| error.kind() == kind)
    };
    let named = cause::chain(error).any(|cause| cause.to_string().starts_with("dns error"));
    match () {
        () if is(io::ErrorKind::PermissionDenied) => {
            "let url lead elsewhere, or set allow_private = true if it may go there"
        }
        () if named => "correct the host in url, or see whether this machine can look names up",
        () if is(io::ErrorKind::ConnectionRefused) => "start the server, or correct the port in url",
        () if is(io::ErrorKind::TimedOut) => "look for a firewall on the way, or give connect_timeout more",
        () => "see whether url and proxy are right, and whether the server runs",
    }
}

fn validity(topic: &'static str, certificate: &CertificateDer<'_>) -> Finding {
    match Certificate::read(certificate) {
        Some(read) => read.finding(topic, clock::wall()),
        None => Finding::advice(
            topic,
            "it is taken, but when it ends cannot be read",
            "look at it with another program, such as openssl x509 -text",
        ),
    }
}

fn late(topic: &'static str, what: &str, limit: Duration) -> Finding {
    let what = format!("{what} within {}", duration::display(limit));
    Finding::problem(
        topic,
        what,
        "look for a firewall on the way, or give it more time",
    )
}

/// As precise as it is of use.
fn rounded(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr, SocketAddr},
        sync::Arc,
    };

    use super::*;
    use crate::destination::{Destination as _, http::guard::Guard};

    /// Only a lookup of its own lets a test have a name that leads astray.
    #[tokio::test]
    async fn a_name_that_leads_where_it_must_not_is_told() {
        let private = |address: IpAddr| address.is_loopback().then_some("loopback (127.0.0.0/8)");
        let found = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let http = Http::to("https://shop.example/hunter2")
            .found_by(
                Arc::new(move |_| Box::pin(std::future::ready(Ok(vec![found])))),
                Guard::refusing(private),
            )
            .build()
            .unwrap();
        let findings = http.probe(Duration::from_secs(30)).await;
        let [finding] = &findings[..] else {
            panic!("{findings:?}");
        };
        assert_eq!((finding.grade, finding.topic), (Grade::Problem, "connection"));
        let words = "cannot connect to https://shop.example: its name leads to 127.0.0.1, which is loopback";
        assert!(finding.what.starts_with(words), "{finding:?}");
        assert!(finding.next.contains("allow_private = true"), "{finding:?}");
    }

    #[test]
    fn plain_http_across_the_internet_is_worth_a_word() {
        assert_eq!(plain(false, true).grade, Grade::Good);
        let finding = plain(true, false);
        assert_eq!(finding.grade, Grade::Advice);
        assert!(finding.what.starts_with("HTTP/2 without TLS"), "{finding:?}");
    }
}

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::FutureExt as _;
use hyper::Version;
use redeliver_outbox::destination::{Http, Outcome};
use tokio::io::AsyncReadExt as _;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer},
        server::WebPkiClientVerifier,
    },
};

use crate::{
    deliver,
    endpoint::{Endpoint, Moody},
    hostile::greeting,
    message,
    server::{Reply, Seen, Server, answer},
    soon, suite,
};

/// A server for "localhost" that speaks this protocol, and its certificate as PEM.
pub(crate) async fn start(
    protocol: &[u8],
    reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> (Server, String) {
    start_for(protocol, None, reply).await
}

/// The same, for whoever has this certificate.
pub(crate) async fn start_for(
    protocol: &[u8],
    client: Option<&Identity>,
    reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> (Server, String) {
    let own = Identity::of(&["localhost", "shop.example"]);
    let pem = own.certificate_pem();
    (start_as(own, protocol, client, reply).await, pem)
}

/// The same with this certificate.
pub(crate) async fn start_as(
    own: Identity,
    protocol: &[u8],
    client: Option<&Identity>,
    reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> Server {
    let provider = Arc::new(default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = match client {
        None => config.with_no_client_auth(),
        Some(client) => {
            let mut roots = RootCertStore::empty();
            roots.add(client.certificate.clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::try_from(own.key.clone()).unwrap();
    let mut config = config
        .with_single_cert(vec![own.certificate.clone()], key)
        .unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Server::start_behind(reply, move |socket| {
        let accepting = acceptor.accept(socket).into_fallible();
        async move {
            match accepting.await {
                Ok(stream) => Some(stream),
                // One of the two does not trust the other. A socket that is dropped before it is read takes the alert with it.
                Err((_, mut socket)) => {
                    let _ = socket.read_to_end(&mut Vec::new()).await;
                    None
                }
            }
        }
        .boxed()
    })
    .await
}

/// A certificate and its key.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    pub(crate) fn of(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        Self {
            certificate: made.cert.der().clone(),
            key: made.signing_key.serialize_der(),
        }
    }

    /// One that is valid in these years.
    pub(crate) fn valid(names: &[&str], from: i32, until: i32) -> Self {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut parameters = rcgen::CertificateParams::new(names).unwrap();
        parameters.not_before = rcgen::date_time_ymd(from, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        Self {
            certificate: parameters.self_signed(&key).unwrap().der().clone(),
            key: key.serialize_der(),
        }
    }

    pub(crate) fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    pub(crate) fn key_pem(&self) -> String {
        pem("PRIVATE KEY", &self.key)
    }
}

fn pem(kind: &str, content: &[u8]) -> String {
    let text = STANDARD.encode(content);
    format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
}

#[tokio::test]
async fn a_private_authority_is_trusted_if_one_says_so() {
    for (protocol, version) in [
        (&b"h2"[..], Version::HTTP_2),
        (&b"http/1.1"[..], Version::HTTP_11),
    ] {
        let (mut server, pem) = start(protocol, |_| async { answer(200, &[], "") }.boxed()).await;
        let url = format!("https://localhost:{}/", server.port);
        let http = Http::to(&url)
            .allow_private(true)
            .certificate_authority(pem)
            .build()
            .unwrap();
        assert_eq!(
            deliver(&http, &message("{\"order\":7}"), 1).await,
            Outcome::Delivered
        );
        let seen = soon(server.seen()).await;
        assert_eq!((seen.version, &seen.body[..]), (version, &b"{\"order\":7}"[..]));

        let stranger = Http::to(&url).allow_private(true).build().unwrap();
        match deliver(&stranger, &message("{}"), 1).await {
            Outcome::Unreachable { reason } => {
                assert!(reason.contains("certificate"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        assert!(server.has_seen_nothing());
    }
}

#[tokio::test]
async fn http_2_keeps_to_the_suite() {
    let endpoint = Endpoint::start(async |moody: Moody| {
        let (server, pem) = start(b"h2", move |_| moody.reply()).await;
        let url = format!("https://localhost:{}/", server.port);
        let http = Http::to(url)
            .allow_private(true)
            .certificate_authority(pem)
            .build()
            .unwrap();
        (server, http)
    });
    suite::run(endpoint.await).await;
}

/// The reason of a failure after which nothing can have arrived.
fn not_arrived(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unreachable { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_shows_its_certificate_to_whoever_wants_one() {
    let (relay, stranger) = (Identity::of(&["relay"]), Identity::of(&["relay"]));
    for protocol in [&b"h2"[..], b"http/1.1"] {
        let reply = |_: &Seen| async { answer(200, &[], "") }.boxed();
        let (mut server, pem) = start_for(protocol, Some(&relay), reply).await;
        let to = || {
            Http::to(format!("https://localhost:{}/", server.port))
                .allow_private(true)
                .certificate_authority(pem.as_str())
        };
        let known = to()
            .client_certificate(relay.certificate_pem())
            .client_key(relay.key_pem());
        let unknown = to()
            .client_certificate(stranger.certificate_pem())
            .client_key(stranger.key_pem());
        for http in [to(), unknown] {
            let reason = not_arrived(deliver(&http.build().unwrap(), &message("{}"), 1).await);
            assert!(
                reason
                    .contains("it wants a certificate of the client, or another one than client_certificate"),
                "{reason}"
            );
        }
        assert!(server.has_seen_nothing());
        let known = known.build().unwrap();
        assert_eq!(deliver(&known, &message("{}"), 1).await, Outcome::Delivered);
        soon(server.seen()).await;
    }
}

#[test]
fn a_certificate_and_its_key_belong_together_and_the_key_is_not_shown() {
    let (relay, other) = (Identity::of(&["relay"]), Identity::of(&["relay"]));
    let (certificate, key) = (relay.certificate_pem(), relay.key_pem());
    let secret = "aHVudGVyMg==";
    for (url, certificate, key, field, words) in [
        (
            "https",
            Some(certificate.as_str()),
            None,
            "client_certificate",
            "without its client_key",
        ),
        (
            "https",
            None,
            Some(key.as_str()),
            "client_key",
            "without its client_certificate",
        ),
        (
            "https",
            Some(&certificate),
            Some(&other.key_pem()),
            "client_key",
            "not the one of client_certificate",
        ),
        (
            "https",
            Some(&key),
            Some(&key),
            "client_certificate",
            "holds no certificate",
        ),
        (
            "https",
            Some(&certificate),
            Some(&certificate),
            "client_key",
            "holds no private key",
        ),
        (
            "https",
            Some(&certificate),
            Some(secret),
            "client_key",
            "holds no private key",
        ),
        (
            "https",
            Some(&certificate),
            Some(&pem("PRIVATE KEY", b"hunter2")),
            "client_key",
            "no key that can be used",
        ),
        (
            "https",
            Some(&certificate),
            Some(&pem("ENCRYPTED PRIVATE KEY", b"hunter2")),
            "client_key",
            "is not encrypted",
        ),
        (
            "http",
            Some(&certificate),
            Some(&key),
            "client_certificate",
            "https://",
        ),
    ] {
        let mut builder = Http::to(format!("{url}://example.com/"));
        if let Some(certificate) = certificate {
            builder = builder.client_certificate(certificate);
        }
        if let Some(key) = key {
            builder = builder.client_key(key);
        }
        assert!(!format!("{builder:?}").contains(secret));
        let error = builder.build().unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(
            error.rule.contains(words) && !error.rule.contains(secret),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_version_of_http_is_the_servers_choice_or_ours() {
    let reply = |_: &Seen| async { answer(200, &[], "") }.boxed();
    for (protocol, wanted, version) in [
        (&b"h2"[..], true, Some(Version::HTTP_2)),
        (b"h2", false, Some(Version::HTTP_11)),
        (b"http/1.1", false, Some(Version::HTTP_11)),
        (b"http/1.1", true, None),
    ] {
        let (mut server, pem) = start(protocol, reply).await;
        let http = Http::to(format!("https://localhost:{}/", server.port)).allow_private(true);
        let http = http.certificate_authority(pem).http2(wanted).build().unwrap();
        let outcome = deliver(&http, &message("{}"), 1).await;
        match version {
            Some(version) => {
                assert_eq!(outcome, Outcome::Delivered);
                assert_eq!(soon(server.seen()).await.version, version);
            }
            None => {
                let reason = not_arrived(outcome);
                assert!(
                    reason.ends_with("it does not speak the version of HTTP that http2 asks for"),
                    "{reason}"
                );
            }
        }
    }
}

#[tokio::test]
async fn http_2_without_tls_is_spoken_at_once() {
    let mut server = Server::start(|_| async { answer(200, &[], "") }.boxed()).await;
    let http = Http::to(server.url())
        .allow_private(true)
        .http2(true)
        .build()
        .unwrap();
    assert_eq!(deliver(&http, &message("{}"), 1).await, Outcome::Delivered);
    assert_eq!(soon(server.seen()).await.version, Version::HTTP_2);

    let port = greeting(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let http = Http::to(format!("http://localhost:{port}/")).allow_private(true);
    let http = http.http2(true).build().unwrap();
    let reason = not_arrived(deliver(&http, &message("{}"), 1).await);
    assert_eq!(
        reason,
        format!("http://localhost:{port} speaks no HTTP/2: leave http2 out")
    );
}

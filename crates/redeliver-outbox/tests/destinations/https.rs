use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::FutureExt as _;
use hyper::Version;
use redeliver::Class;
use redeliver_outbox::destination::{Http, Outcome};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring::default_provider, pki_types::PrivateKeyDer},
};

use crate::{
    deliver,
    endpoint::{Endpoint, Moody},
    message,
    server::{Reply, Seen, Server, answer},
    soon, suite,
};

/// A server for "localhost" that speaks this protocol, and its certificate as PEM.
pub(crate) async fn start(
    protocol: &[u8],
    reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> (Server, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server = Server::start_behind(reply, move |socket| {
        let acceptor = acceptor.clone();
        // A client that does not trust the certificate ends it here.
        async move { acceptor.accept(socket).await.ok() }.boxed()
    })
    .await;
    let text = STANDARD.encode(&certificate);
    let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    (server, pem)
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
            Outcome::Retry { class, reason } => {
                assert_eq!(class, Class::Transient);
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

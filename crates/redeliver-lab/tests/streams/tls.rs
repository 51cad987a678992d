//! The same over TLS, with an authority of the test's own.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use redeliver::StopReason;
use redeliver::websocket::{Message, WebSocket};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::accept_async;

use crate::{FAST, all, soon};

/// Accepts connections for "localhost", sends one item on each, and drops the first without a word; its port and its certificate.
async fn start() -> (u16, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok((socket, _)) = listener.accept().await {
            // A client that does not trust the certificate ends it here.
            let Ok(socket) = acceptor.accept(socket).await else {
                continue;
            };
            let mut connection = accept_async(socket).await.unwrap();
            number += 1;
            connection
                .send(Message::text(format!("item {number}")))
                .await
                .unwrap();
            if number == 2 {
                let frame = tokio_tungstenite::tungstenite::protocol::CloseFrame {
                    code: 1000.into(),
                    reason: "".into(),
                };
                connection.close(Some(frame)).await.unwrap();
                while let Some(Ok(_)) = soon(connection.next()).await {}
            }
        }
    });
    (port, certificate)
}

#[tokio::test]
async fn a_private_authority_is_trusted_if_one_says_so() {
    let (port, certificate) = start().await;
    let url = format!("wss://localhost:{port}/");

    let stranger = WebSocket::connect(&url).policy(FAST).stream().unwrap();
    let gave_up = all(stranger.events()).await.end.unwrap();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Permanent, 1));
    assert!(gave_up.to_string().contains("certificate"), "{gave_up}");

    let mut authorities = RootCertStore::empty();
    authorities.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(authorities)
        .with_no_client_auth();
    let trusted = WebSocket::connect(&url).policy(FAST).tls(Arc::new(config));
    let told = all(trusted.stream().unwrap().events()).await;
    assert!(told.end.is_none(), "{:?}", told.end);
    assert_eq!(told.items, [Message::text("item 1"), Message::text("item 2")]);
    assert_eq!((told.connections, told.losses.len()), (2, 1));
}

//! Proofs of who we are: fixed ones, and tokens of a real token endpoint.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::{FutureExt as _, future::join_all};
use redeliver_outbox::{
    DeadReason,
    destination::{ClientCredentials, Http, HttpBuilder, Outcome},
};

use crate::{
    deliver, message,
    server::{Reply, Seen, Server, answer},
    soon,
};

fn to(server: &Server) -> HttpBuilder {
    Http::to(server.url()).allow_private(true)
}

fn client(tokens: &Server) -> ClientCredentials {
    ClientCredentials::new(tokens.url(), "shop:eu", "hunter2 %").scope("a b")
}

/// A token endpoint that hands out `token-1`, `token-2`…, for so many seconds each.
async fn issuer(expires_in: u64) -> (Server, Arc<AtomicUsize>) {
    let issued = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&issued);
    let server = Server::start(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        let body =
            format!(r#"{{"access_token":"token-{number}","token_type":"Bearer","expires_in":{expires_in}}}"#);
        async { answer(200, &[], body) }.boxed()
    })
    .await;
    (server, issued)
}

async fn taking() -> Server {
    Server::start(|_| async { answer(204, &[], "") }.boxed()).await
}

#[tokio::test]
async fn a_fixed_proof_is_sent_with_every_request() {
    let mut server = taking().await;
    for (builder, expected) in [
        (to(&server).bearer("abc.def"), "Bearer abc.def"),
        (
            to(&server).basic("Aladdin", "open sesame"),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        ),
    ] {
        let http = builder.build().unwrap();
        assert!(!format!("{http:?}").contains(&expected[7..]));
        let told = redeliver_outbox::Message {
            headers: Some(r#"{"authorization":"Bearer of-the-message"}"#.to_owned()),
            ..message("{}")
        };
        assert_eq!(deliver(&http, &told, 1).await, Outcome::Delivered);
        assert_eq!(soon(server.seen()).await.header("authorization"), Some(expected));
    }
}

#[tokio::test]
async fn a_token_is_fetched_once_however_many_need_it() {
    let ((mut tokens, issued), mut server) = (issuer(3600).await, taking().await);
    let http = to(&server)
        .oauth2(client(&tokens).audience("https://billing"))
        .build()
        .unwrap();
    let message = message("{}");
    let attempts = (0..20).map(|_| deliver(&http, &message, 1));
    for outcome in join_all(attempts).await {
        assert_eq!(outcome, Outcome::Delivered);
    }
    for _ in 0..20 {
        assert_eq!(
            soon(server.seen()).await.header("authorization"),
            Some("Bearer token-1")
        );
    }
    assert_eq!(issued.load(Ordering::SeqCst), 1);
    let asked = soon(tokens.seen()).await;
    assert_eq!(
        asked.body,
        "grant_type=client_credentials&scope=a%20b&audience=https%3A%2F%2Fbilling"
    );
    assert_eq!(
        asked.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    // shop%3Aeu:hunter2%20%25
    assert_eq!(
        asked.header("authorization"),
        Some("Basic c2hvcCUzQWV1Omh1bnRlcjIlMjAlMjU=")
    );
}

#[tokio::test]
async fn a_token_that_has_ended_is_replaced() {
    let ((tokens, _), mut server) = (issuer(0).await, taking().await);
    let http = to(&server).oauth2(client(&tokens)).build().unwrap();
    for expected in ["Bearer token-1", "Bearer token-2"] {
        assert_eq!(deliver(&http, &message("{}"), 1).await, Outcome::Delivered);
        assert_eq!(soon(server.seen()).await.header("authorization"), Some(expected));
    }
}

/// Takes requests with this token only.
fn wants(token: &'static str) -> impl Fn(&Seen) -> Reply + Send + Sync + 'static {
    move |seen| {
        let status = match seen.header("authorization") == Some(token) {
            true => 204,
            false => 401,
        };
        async move { answer(status, &[], "") }.boxed()
    }
}

#[tokio::test]
async fn a_token_that_is_refused_is_replaced_once() {
    let ((tokens, issued), server) = (issuer(3600).await, Server::start(wants("Bearer token-2")).await);
    let http = to(&server).oauth2(client(&tokens)).build().unwrap();
    for _ in 0..2 {
        assert_eq!(deliver(&http, &message("{}"), 1).await, Outcome::Delivered);
    }
    assert_eq!(issued.load(Ordering::SeqCst), 2);

    let ((tokens, issued), mut server) = (issuer(3600).await, Server::start(wants("Bearer other")).await);
    let http = to(&server).oauth2(client(&tokens)).build().unwrap();
    let refused = Outcome::Reject {
        kind: DeadReason::Permanent,
        reason: "401 Unauthorized".to_owned(),
    };
    assert_eq!(deliver(&http, &message("{}"), 1).await, refused);
    assert_eq!(issued.load(Ordering::SeqCst), 2);
    for _ in 0..2 {
        soon(server.seen()).await;
    }
    assert!(server.has_seen_nothing());
}

#[tokio::test]
async fn without_a_token_nothing_is_sent_and_the_reason_is_told() {
    let mut server = taking().await;
    let long = "x".repeat(70_000);
    let long: &'static str = Box::leak(format!(r#"{{"access_token":"{long}"}}"#).into_boxed_str());
    for (status, body, words) in [
        (
            401,
            r#"{"error":"invalid_client","error_description":"hunter2 is wrong"}"#,
            "401 Unauthorized (invalid_client); check client_id, client_secret",
        ),
        (400, r#"{"error":"hunter2 %"}"#, "400 Bad Request; check"),
        (503, "hunter2", "503 Service Unavailable"),
        (302, "", "302 Found"),
        (200, "hunter2", "no JSON object with an access_token"),
        (200, r#"{"access_token":"a\r\nb"}"#, "the bearer token"),
        (
            200,
            r#"{"access_token":"a","token_type":"mac"}"#,
            "another type than bearer",
        ),
        (200, long, "length limit exceeded"),
    ] {
        let tokens = Server::start(move |_| async move { answer(status, &[], body) }.boxed()).await;
        let http = to(&server).oauth2(client(&tokens)).build().unwrap();
        match deliver(&http, &message("{}"), 1).await {
            Outcome::Unreachable { reason } => {
                let origin = format!("no token from http://127.0.0.1:{}: ", tokens.port);
                assert!(
                    reason.starts_with(&origin) && reason.contains(words),
                    "{words}: {reason}"
                );
                assert!(!reason.contains("hunter2"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(server.has_seen_nothing());
}

#[tokio::test]
async fn a_token_endpoint_that_fails_is_asked_once_for_all_who_wait() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let tokens = Server::start(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { answer(500, &[], "") }.boxed()
    })
    .await;
    let server = taking().await;
    let http = to(&server).oauth2(client(&tokens)).build().unwrap();
    let message = message("{}");
    for outcome in join_all((0..20).map(|_| deliver(&http, &message, 1))).await {
        assert!(matches!(&outcome, Outcome::Unreachable { .. }), "{outcome:?}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    deliver(&http, &message, 2).await;
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn what_cannot_prove_anything_is_refused_and_not_shown() {
    let to = || Http::to("https://example.com");
    let url = "https://example.com/token";
    for (builder, field, words) in [
        (to().bearer("hunter2\n"), "auth", "the bearer token"),
        (to().bearer(""), "auth", "the bearer token"),
        (to().basic("a:b", "hunter2"), "auth", "colon"),
        (to().basic("a", "hunter2\n"), "auth", "control character"),
        (
            to().bearer("hunter2").header("Authorization", "hunter2"),
            "headers",
            "leave one of them out",
        ),
        (
            to().oauth2(ClientCredentials::new("example.com/hunter2", "a", "hunter2")),
            "auth",
            "token_url: ",
        ),
        (
            to().oauth2(ClientCredentials::new("https://a:hunter2@h/", "a", "b")),
            "auth",
            "token_url: ",
        ),
        (
            to().oauth2(ClientCredentials::new(url, "a", "")),
            "auth",
            "must not be empty",
        ),
    ] {
        assert!(!format!("{builder:?}").contains("hunter2"));
        let error = builder.build().unwrap_err();
        assert_eq!(error.field, field, "{error}");
        let error = error.to_string();
        assert!(error.contains(words) && !error.contains("hunter2"), "{error}");
    }
    let client = ClientCredentials::new(url, "a", "hunter2").scope("hunter2");
    assert!(!format!("{client:?}").contains("hunter2"));
}

//! What a look at a destination finds, without a message.

use std::time::Duration;

use futures_util::FutureExt as _;
use redeliver_outbox::{
    desk::{Finding, Grade},
    destination::{Answer, ClientCredentials, Delivery, Destination, Http, HttpBuilder, Log, Outcome},
};

use crate::{
    LONG,
    https::{Identity, start, start_as},
    message,
    server::{Reply, Seen, Server, answer, listen},
    soon,
};

fn ok(_: &Seen) -> Reply {
    async { answer(200, &[], "") }.boxed()
}

async fn probe(builder: HttpBuilder) -> Vec<Finding> {
    let http = builder.allow_private(true).build().unwrap();
    soon(http.probe(LONG)).await
}

/// The one finding on this topic.
#[track_caller]
fn on<'f>(findings: &'f [Finding], topic: &str) -> &'f Finding {
    let mut found = findings.iter().filter(|finding| finding.topic == topic);
    let (Some(finding), None) = (found.next(), found.next()) else {
        panic!("not one on {topic}: {findings:#?}");
    };
    assert_eq!(
        finding.grade == Grade::Good,
        finding.next.is_empty(),
        "{finding:?}"
    );
    finding
}

#[track_caller]
fn is_problem(findings: &[Finding], topic: &str, words: &str) {
    let finding = on(findings, topic);
    assert_eq!(finding.grade, Grade::Problem, "{finding:?}");
    assert!(finding.what.contains(words), "{finding:?}");
}

#[tokio::test]
async fn a_destination_that_is_well_is_found_so_and_sent_nothing() {
    for (protocol, words) in [
        (&b"h2"[..], "HTTP/2 over TLS 1.3"),
        (b"http/1.1", "HTTP/1.1 over TLS 1.3"),
    ] {
        let (mut server, pem) = start(protocol, ok).await;
        let url = format!("https://localhost:{}/hunter2?key=hunter2", server.port);
        let findings = probe(Http::to(url).certificate_authority(pem).bearer("hunter2")).await;
        assert!(
            findings.iter().all(|finding| finding.grade == Grade::Good),
            "{findings:#?}"
        );
        assert_eq!(on(&findings, "protocol").what, words);
        let certificate = &on(&findings, "certificate").what;
        assert!(
            certificate.starts_with("for localhost, shop.example, from CN=rcgen self signed cert: "),
            "{certificate}"
        );
        let connection = &on(&findings, "connection").what;
        assert!(
            connection.contains(&format!("https://localhost:{} is at ", server.port)),
            "{connection}"
        );
        assert!(!format!("{findings:?}").contains("hunter2"), "{findings:#?}");
        assert!(server.has_seen_nothing());
    }
}

#[tokio::test]
async fn plain_http_is_found_without_a_request() {
    let mut server = Server::start(ok).await;
    let findings = probe(Http::to(server.url())).await;
    let protocol = on(&findings, "protocol");
    assert_eq!(protocol.what, "HTTP/1.1 without TLS, to a private address");
    assert!(server.has_seen_nothing());
}

#[tokio::test]
async fn a_certificate_that_is_not_accepted_is_told_with_whose_it_is() {
    let (server, _) = start(b"h2", ok).await;
    let findings = probe(Http::to(format!("https://localhost:{}/", server.port))).await;
    is_problem(&findings, "certificate", "from CN=rcgen self signed cert: ");
    is_problem(&findings, "certificate", "not from an authority that is trusted");
    assert_eq!(findings.len(), 1, "{findings:#?}");

    for (names, from, until, words) in [
        (["localhost"], 2001, 2002, "expired"),
        (["localhost"], 2951, 2952, "not valid yet"),
        (["other.example"], 2001, 2952, "other.example"),
    ] {
        let own = Identity::valid(&names, from, until);
        let pem = own.certificate_pem();
        let server = start_as(own, b"h2", None, ok).await;
        let url = format!("https://localhost:{}/", server.port);
        let findings = probe(Http::to(url).certificate_authority(pem)).await;
        is_problem(&findings, "certificate", words);
        is_problem(&findings, "certificate", &format!("for {}", names[0]));
    }
}

#[tokio::test]
async fn a_server_that_wants_to_know_who_we_are_says_so() {
    let client = Identity::valid(&["relay"], 2001, 2952);
    let own = Identity::of(&["localhost"]);
    let pem = own.certificate_pem();
    let server = start_as(own, b"http/1.1", Some(&client), ok).await;
    let url = format!("https://localhost:{}/", server.port);
    let stranger = probe(Http::to(&url).certificate_authority(pem.clone())).await;
    is_problem(
        &stranger,
        "client certificate",
        "it wants a certificate of the client",
    );

    let known = Http::to(&url)
        .certificate_authority(pem)
        .client_certificate(client.certificate_pem())
        .client_key(client.key_pem());
    let findings = probe(known).await;
    assert!(
        on(&findings, "client certificate")
            .what
            .starts_with("for relay, "),
        "{findings:#?}"
    );
    assert!(findings.iter().all(|finding| finding.grade == Grade::Good));

    let ended = Identity::valid(&["relay"], 2001, 2002);
    let ended = Http::to(&url)
        .client_certificate(ended.certificate_pem())
        .client_key(ended.key_pem());
    is_problem(&probe(ended).await, "client certificate", "ended ");
}

#[tokio::test]
async fn who_is_not_there_or_must_not_be_is_told() {
    let (listener, port) = listen();
    drop(listener);
    let nobody = probe(Http::to(format!("http://127.0.0.1:{port}/"))).await;
    is_problem(&nobody, "connection", "refused");
    let nameless = probe(Http::to("https://no-such-name.invalid/")).await;
    is_problem(
        &nameless,
        "connection",
        "cannot connect to https://no-such-name.invalid",
    );
    let proxy = format!("http://user:hunter2@127.0.0.1:{port}");
    let blocked = probe(Http::to("https://example.com/").proxy(proxy)).await;
    is_problem(
        &blocked,
        "connection",
        &format!("the proxy http://127.0.0.1:{port} cannot be reached"),
    );
    assert!(!format!("{blocked:?}").contains("hunter2"));
    let plain = Server::start(ok).await;
    let scheme = probe(Http::to(format!("https://127.0.0.1:{}/", plain.port))).await;
    is_problem(&scheme, "connection", "does not speak TLS");
}

#[tokio::test]
async fn a_look_ends_in_time() {
    let (_listener, port) = listen();
    let http = Http::to(format!("https://127.0.0.1:{port}/"))
        .allow_private(true)
        .build()
        .unwrap();
    let findings = soon(http.probe(Duration::from_millis(20))).await;
    is_problem(&findings, "connection", "within 20ms");
}

#[tokio::test]
async fn tokens_are_fetched_and_secrets_counted() {
    let tokens = Server::start(|seen: &Seen| {
        let known = seen.header("authorization") == Some("Basic c2hvcDpodW50ZXIy");
        async move {
            match known {
                true => answer(200, &[], r#"{"access_token":"hunter2","token_type":"Bearer"}"#),
                false => answer(401, &[], r#"{"error":"invalid_client"}"#),
            }
        }
        .boxed()
    })
    .await;
    let server = Server::start(ok).await;
    let with = |secret: &str| {
        Http::to(server.url())
            .oauth2(ClientCredentials::new(tokens.url(), "shop", secret))
            .webhook_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
            .header("x-key", "")
    };
    let findings = probe(with("hunter2")).await;
    assert_eq!(on(&findings, "token").grade, Grade::Good, "{findings:#?}");
    assert_eq!(on(&findings, "signatures").what, "1 secret to sign with: v1");
    is_problem(&findings, "headers", "x-key is empty");
    assert!(!format!("{findings:?}").contains("hunter2"), "{findings:#?}");
    is_problem(&probe(with("wrong")).await, "token", "(invalid_client)");
}

#[tokio::test]
async fn a_trial_keeps_what_was_answered() {
    let server =
        Server::start(|_| async { answer(202, &[], "taken\u{1b}[2J, with Bearer hunter2-hunter2") }.boxed())
            .await;
    let http = Http::to(server.url())
        .allow_private(true)
        .bearer("hunter2-hunter2")
        .build()
        .unwrap();
    let message = message("{}");
    let delivery = Delivery {
        message: &message,
        attempt: 1,
        timeout: LONG,
    };
    let trial = soon(http.trial(delivery)).await;
    assert_eq!(trial.outcome, Outcome::Delivered);
    let Some(Answer {
        status,
        protocol,
        said,
        ..
    }) = trial.answer
    else {
        panic!("no answer");
    };
    assert_eq!((status, protocol), (202, "HTTP/1.1"));
    assert_eq!(said, "taken\u{fffd}[2J, with Bearer …");
    let trial = soon(Log.trial(delivery)).await;
    assert_eq!((trial.outcome, trial.answer), (Outcome::Delivered, None));
    assert_eq!(soon(Log.probe(LONG)).await, []);
}

//! Requests signed as Standard Webhooks has it, by the secrets before, during and after a rotation.

use std::time::Duration;

use futures_util::FutureExt as _;
use redeliver::clock;
use redeliver_outbox::{
    Message,
    destination::{
        Http, HttpBuilder, Outcome,
        webhook::{Secret, Unverified, verify},
    },
};

use crate::{
    deliver, message,
    server::{Seen, Server, answer},
    soon,
};

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const PRIVATE: &str =
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
const PUBLIC: &str = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";

fn to(server: &Server) -> HttpBuilder {
    Http::to(server.url()).allow_private(true)
}

fn check(receiver: &str, seen: &Seen, body: &[u8]) -> Result<(), Unverified> {
    let secret: Secret = receiver.parse().unwrap();
    let header = |name| seen.header(name).unwrap();
    verify(
        &[secret],
        header("webhook-id"),
        header("webhook-timestamp"),
        header("webhook-signature"),
        body,
        clock::wall(),
        Duration::from_secs(300),
    )
}

#[tokio::test]
async fn each_secret_signs_and_each_receiver_finds_its_own() {
    let mut server = Server::start(|_| async { answer(204, &[], "") }.boxed()).await;
    for (signing, accepting, refusing) in [
        (&[OLD][..], &[OLD][..], &[NEW, PUBLIC][..]),
        (&[NEW, OLD, PRIVATE], &[OLD, NEW, PUBLIC], &[]),
        (&[NEW, PRIVATE], &[NEW, PUBLIC], &[OLD]),
    ] {
        let builder = to(&server);
        let builder = signing
            .iter()
            .fold(builder, |builder, &secret| builder.webhook_secret(secret));
        let http = builder.build().unwrap();
        for payload in [
            b"{\"crab\":\"\xf0\x9f\xa6\x80\"}".to_vec(),
            Vec::new(),
            vec![0, 0xff, b'.'],
        ] {
            let message = message(payload.clone());
            assert_eq!(deliver(&http, &message, 1).await, Outcome::Delivered);
            let seen = soon(server.seen()).await;
            for &receiver in accepting {
                assert_eq!(check(receiver, &seen, &payload), Ok(()));
                let tampered = [&payload[..], b" "].concat();
                assert_eq!(check(receiver, &seen, &tampered), Err(Unverified::Wrong));
            }
            for &receiver in refusing {
                check(receiver, &seen, &payload).unwrap_err();
            }
        }
    }
}

#[tokio::test]
async fn an_attempt_has_the_messages_id_and_its_own_time() {
    let mut server = Server::start(|_| async { answer(500, &[], "") }.boxed()).await;
    let http = to(&server).webhook_secret(OLD).build().unwrap();
    let message = message("{}");
    for attempt in 1..=3 {
        let before = clock::wall().as_secs();
        deliver(&http, &message, attempt).await;
        let seen = soon(server.seen()).await;
        assert_eq!(seen.header("webhook-id"), Some(message.id.to_string().as_str()));
        let time: u64 = seen.header("webhook-timestamp").unwrap().parse().unwrap();
        assert!((before..=clock::wall().as_secs()).contains(&time), "{time}");
    }
}

#[tokio::test]
async fn a_message_cannot_bring_a_signature_of_its_own_where_the_relay_signs() {
    let mut server = Server::start(|_| async { answer(200, &[], "") }.boxed()).await;
    let signed = Message {
        headers: Some(r#"{"Webhook-Signature":"v1,own"}"#.to_owned()),
        ..message("{}")
    };
    let http = to(&server).build().unwrap();
    assert_eq!(deliver(&http, &signed, 1).await, Outcome::Delivered);
    assert_eq!(
        soon(server.seen()).await.header("webhook-signature"),
        Some("v1,own")
    );
    let http = to(&server).webhook_secret(OLD).build().unwrap();
    let outcome = deliver(&http, &signed, 1).await;
    assert!(
        matches!(&outcome, Outcome::Reject { reason, .. } if reason.contains("webhook-signature")),
        "{outcome:?}"
    );
    assert!(server.has_seen_nothing());
}

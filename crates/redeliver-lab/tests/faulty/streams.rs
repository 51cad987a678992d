//! Streams that drop: a client that keeps the resume protocol misses nothing and sees nothing twice.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use futures_util::StreamExt;
use redeliver_lab::faulty::{FaultyConfig, FaultyServer};
use serde_json::Value;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::client::{Seen, get, send, soon, start};

const KINDS: [&str; 5] = ["before-first", "clean", "mid-item", "reset", "silent"];

/// How one WebSocket connection ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Refused,
    Closed(CloseCode),
    Broken,
}

async fn one_websocket(server: &FaultyServer, options: &str, items: &mut Vec<Value>) -> Ended {
    let after = items.last().map_or(0, |item| item["id"].as_u64().unwrap());
    let url = format!("ws://{}/ws?every=0&after={after}&{options}", server.local_addr());
    let mut socket = match soon(Box::pin(connect_async(url))).await {
        Ok((socket, _)) => socket,
        Err(Error::Http(response)) => {
            assert_eq!(response.status(), 503);
            return Ended::Refused;
        }
        // The server may reset before the client has read its handshake.
        Err(_) => return Ended::Broken,
    };
    loop {
        match soon(socket.next()).await {
            Some(Ok(Message::Text(text))) => items.push(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(Some(frame)))) => {
                // Reading on sends the reply that the server waits for.
                while let Some(Ok(_)) = soon(socket.next()).await {}
                return Ended::Closed(frame.code);
            }
            Some(Ok(other)) => panic!("unexpected {other:?}"),
            Some(Err(_)) | None => return Ended::Broken,
        }
    }
}

fn assert_whole(items: &[Value], last: u64) {
    let ids: Vec<_> = items.iter().map(|item| item["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=last).collect::<Vec<_>>());
    let distinct: BTreeSet<_> = items.iter().map(|item| item["data"].as_str().unwrap()).collect();
    assert_eq!(distinct.len(), items.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn websocket_resumes_without_gap_or_repeat_over_hundreds_of_drops() {
    let server = start(FaultyConfig::default());
    let mut items = Vec::new();
    let (mut drops, mut refusals) = (0, 0);
    loop {
        match one_websocket(&server, "drop_after=8&until=2500&refuse=10", &mut items).await {
            Ended::Closed(CloseCode::Normal) => break,
            Ended::Closed(code) => {
                assert_eq!(code, CloseCode::Away);
                drops += 1;
            }
            Ended::Broken => drops += 1,
            Ended::Refused => refusals += 1,
        }
    }
    assert!(drops >= 200, "{drops} drops");
    assert!(refusals >= 5, "{refusals} refusals");
    assert_whole(&items, 2500);
    let route = server.stats().routes["/ws"].clone();
    assert_eq!(route.successes, 1);
    for kind in KINDS {
        assert!(route.faults[kind] >= 20, "{kind}: {:?}", route.faults);
    }
    assert_eq!(route.faults["refused"], refusals);
}

#[tokio::test]
async fn each_websocket_drop_is_of_its_kind() {
    let server = start(FaultyConfig::default());
    for (kind, ends, least) in [
        ("clean", Ended::Closed(CloseCode::Away), 1),
        ("silent", Ended::Broken, 1),
        ("mid-item", Ended::Broken, 1),
        ("before-first", Ended::Broken, 0),
    ] {
        let mut items = Vec::new();
        assert_eq!(
            one_websocket(&server, &format!("drop={kind}&drop_after=3"), &mut items).await,
            ends,
            "{kind}"
        );
        assert!((least..=5).contains(&items.len()), "{kind}: {}", items.len());
    }
}

const HANDSHAKE: &str = "connection: keep-alive\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Payloads of the frames that came whole, and what is left after them.
fn frames(mut bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut whole = Vec::new();
    while let [0x81, length, rest @ ..] = bytes
        && rest.len() >= usize::from(*length)
    {
        let (payload, rest) = rest.split_at(usize::from(*length));
        whole.push(payload);
        bytes = rest;
    }
    (whole, bytes)
}

#[tokio::test]
async fn the_bytes_of_each_websocket_drop() {
    let server = start(FaultyConfig::default());
    for kind in ["silent", "mid-item", "before-first", "reset"] {
        let target = format!("/ws?every=0&drop={kind}&drop_after=5");
        let seen = send(&server, "GET", &target, HANDSHAKE, "").await;
        assert_eq!(
            seen.header("sec-websocket-accept"),
            Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        );
        let (whole, rest) = frames(&seen.raw);
        assert_eq!(whole.is_empty(), kind == "before-first", "{kind}");
        assert_eq!(rest.is_empty(), kind != "mid-item", "{kind}: {rest:?}");
        let reset = seen
            .end
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionReset);
        assert_eq!(reset, kind == "reset", "{kind}: {:?}", seen.end);
    }
}

#[tokio::test]
async fn the_bytes_of_each_sse_drop() {
    let server = start(FaultyConfig::default());
    for kind in KINDS {
        let seen = get(&server, &format!("/sse?every=0&drop={kind}&drop_after=5")).await;
        assert_eq!(
            complete_events(&seen).is_empty(),
            kind == "before-first",
            "{kind}"
        );
        assert_eq!(seen.raw.ends_with(b"0\r\n\r\n"), kind == "clean", "{kind}");
        let half = !seen.body.is_empty() && !seen.body.ends_with(b"\n\n");
        assert_eq!(half, kind == "mid-item", "{kind}: {}", seen.text());
        let reset = seen
            .end
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionReset);
        assert_eq!(reset, kind == "reset", "{kind}: {:?}", seen.end);
    }
}

#[tokio::test]
async fn a_websocket_that_has_all_is_closed_at_once() {
    let server = start(FaultyConfig::default());
    let mut items = Vec::new();
    assert_eq!(
        one_websocket(&server, "until=0", &mut items).await,
        Ended::Closed(CloseCode::Normal)
    );
    assert!(items.is_empty());
    let whole = one_websocket(&server, "until=500&drop_after=0", &mut items).await;
    assert_eq!(whole, Ended::Closed(CloseCode::Normal));
    assert_whole(&items, 500);
}

/// The events that came whole, by the rule of the standard: an empty line completes one.
fn complete_events(seen: &Seen) -> Vec<Value> {
    let text = String::from_utf8_lossy(&seen.body);
    let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    let events = whole.split("\n\n").filter(|event| event.starts_with("id: "));
    events
        .map(|event| {
            let (id, data) = event.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(id, format!("id: {}", data["id"]));
            data
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sse_resumes_without_gap_or_repeat_over_hundreds_of_drops() {
    let server = start(FaultyConfig::default());
    let mut items: Vec<Value> = Vec::new();
    let mut connections = 0;
    loop {
        let last = items
            .last()
            .map(|item| format!("last-event-id: {}\r\n", item["id"]))
            .unwrap_or_default();
        let seen = send(
            &server,
            "GET",
            "/sse?every=0&drop_after=8&until=2500&refuse=10",
            &last,
            "",
        )
        .await;
        match seen.status {
            204 => break,
            503 => continue,
            // A reset can overtake the head of the answer.
            status => assert!(status == 200 || seen.end.is_err(), "{status}"),
        }
        connections += 1;
        items.extend(complete_events(&seen));
    }
    assert!(connections >= 200, "{connections} connections");
    assert_whole(&items, 2500);
    let route = server.stats().routes["/sse"].clone();
    for kind in KINDS {
        assert!(route.faults[kind] >= 20, "{kind}: {:?}", route.faults);
    }
}

#[tokio::test]
async fn sse_says_when_to_come_back_and_that_it_is_over() {
    let server = start(FaultyConfig::default());
    let seen = get(&server, "/sse?every=0&drop_after=0&until=2&retry=250").await;
    assert_eq!(seen.header("content-type"), Some("text/event-stream"));
    assert!(
        seen.text().starts_with("retry: 250\n\nid: 1\ndata: {"),
        "{}",
        seen.text()
    );
    assert_eq!(complete_events(&seen).len(), 2);
    assert_eq!(get(&server, "/sse?after=2&until=2").await.status, 204);
    let bad = send(&server, "GET", "/sse", "last-event-id: x\r\n", "").await;
    assert!(bad.text().contains("Last-Event-ID"), "{}", bad.text());
}

#[tokio::test]
async fn both_streams_carry_the_same_log() {
    let server = start(FaultyConfig {
        seed: 99,
        ..FaultyConfig::default()
    });
    let mut by_websocket = Vec::new();
    one_websocket(&server, "until=20&drop_after=0", &mut by_websocket).await;
    let by_sse = complete_events(&get(&server, "/sse?every=0&until=20&drop_after=0").await);
    assert_eq!(by_websocket, by_sse);
}

//! A thousand drops of every kind: what the server can give again is neither repeated nor lost.

use std::time::Duration;

use redeliver::sse::EventSource;
use redeliver::websocket::{Message, WebSocket};
use redeliver_lab::faulty::FaultyServer;
use serde_json::Value;

use crate::{FAST, all, start, ws};

const LOG: u64 = 9_000;
const KINDS: [&str; 5] = ["before-first", "clean", "mid-item", "reset", "silent"];

fn id(text: &str) -> u64 {
    let item: Value = serde_json::from_str(text).unwrap();
    item["id"].as_u64().unwrap()
}

fn assert_dropped_in_every_way(server: &FaultyServer, path: &str) {
    let route = server.stats().routes[path].clone();
    for kind in KINDS {
        assert!(route.faults[kind] >= 100, "{kind}: {:?}", route.faults);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn websocket_survives_a_thousand_drops() {
    let server = start();
    let target = format!("/ws?every=0&drop_after=8&until={LOG}&refuse=5");
    let socket = WebSocket::connect(ws(&server, &target))
        .policy(FAST)
        .resume(|last, next| {
            if let Some(Message::Text(text)) = last {
                next.query("after", &id(text).to_string());
            }
        });
    let told = all(socket.stream().unwrap().events()).await;
    assert!(told.end.is_none(), "{:?}", told.end);
    assert!(told.losses.len() >= 1_000, "{} losses", told.losses.len());
    let ids: Vec<_> = told
        .items
        .iter()
        .map(|item| id(item.to_text().unwrap()))
        .collect();
    assert_eq!(ids, (1..=LOG).collect::<Vec<_>>());
    assert_dropped_in_every_way(&server, "/ws");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sse_survives_a_thousand_drops() {
    let server = start();
    let url = format!(
        "{}/sse?every=0&drop_after=8&until={LOG}&refuse=5",
        server.base_url()
    );
    let told = all(EventSource::connect(url).policy(FAST).stream().unwrap().events()).await;
    assert!(told.end.is_none(), "{:?}", told.end);
    assert!(told.losses.len() >= 1_000, "{} losses", told.losses.len());
    let ids: Vec<_> = told.items.iter().map(|event| id(&event.data)).collect();
    assert_eq!(ids, (1..=LOG).collect::<Vec<_>>());
    assert!(
        told.items
            .iter()
            .all(|event| event.id == id(&event.data).to_string())
    );
    assert_dropped_in_every_way(&server, "/sse");
}

#[tokio::test]
async fn an_earlier_process_can_be_gone_on_from() {
    let server = start();
    let url = format!("{}/sse?every=0&drop_after=0&until=9", server.base_url());
    let source = EventSource::connect(url).policy(FAST).last_event_id("6");
    let told = all(source.stream().unwrap().events()).await;
    let ids: Vec<_> = told.items.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["7", "8", "9"]);
}

#[tokio::test]
async fn the_servers_retry_is_the_wait() {
    let server = start();
    let url = format!(
        "{}/sse?every=0&drop=silent&drop_after=1&until=3&retry=70",
        server.base_url()
    );
    let policy = FAST.jitter(redeliver::Jitter::None);
    let told = all(EventSource::connect(url)
        .policy(policy)
        .stream()
        .unwrap()
        .events())
    .await;
    assert_eq!(told.items.len(), 3);
    let waits: Vec<_> = told.losses.iter().map(|lost| lost.wait).collect();
    assert_eq!(waits, [Duration::from_millis(70); 3]);
}

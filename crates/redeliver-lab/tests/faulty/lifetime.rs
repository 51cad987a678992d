//! Starting, ending, and the bounds in between.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use redeliver_lab::faulty::{Faulty, FaultyConfig};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::client::{get, open, record, soon, start, still_waits};

#[tokio::test]
async fn shutdown_ends_listener_and_connections() {
    let server = start(FaultyConfig::default());
    let address = server.local_addr();
    let mut records = server.records();
    let mut hanging = open(&server, "GET", "/hang", "", "").await;
    record(&mut records, |record| record.path == "/hang").await;
    soon(server.shutdown()).await;
    let mut rest = Vec::new();
    assert_eq!(soon(hanging.read_to_end(&mut rest)).await.unwrap_or(0), 0);
    assert_eq!(
        TcpStream::connect(address).await.unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
}

#[tokio::test]
async fn a_dropped_server_ends_too() {
    let server = start(FaultyConfig::default());
    let mut records = server.records();
    let mut hanging = open(&server, "GET", "/hang", "", "").await;
    record(&mut records, |record| record.path == "/hang").await;
    drop(server);
    let mut rest = Vec::new();
    assert_eq!(soon(hanging.read_to_end(&mut rest)).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_room() {
    let server = start(FaultyConfig {
        max_connections: 1,
        ..FaultyConfig::default()
    });
    let mut records = server.records();
    let hanging = open(&server, "GET", "/hang", "", "").await;
    record(&mut records, |record| record.path == "/hang").await;
    let mut waiting = open(&server, "GET", "/ok", "", "").await;
    assert!(still_waits(waiting.readable()).await);
    drop(hanging);
    let mut answer = String::new();
    soon(waiting.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn even_a_hang_ends_at_the_connections_age() {
    let max_connection_age = Duration::from_millis(50);
    let server = start(FaultyConfig {
        max_connection_age,
        ..FaultyConfig::default()
    });
    let mut hanging = open(&server, "GET", "/hang", "", "").await;
    let mut rest = Vec::new();
    assert_eq!(soon(hanging.read_to_end(&mut rest)).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_client_that_leaves_is_told_apart() {
    let server = start(FaultyConfig::default());
    let mut records = server.records();
    let impatient = open(
        &server,
        "POST",
        "/payment/authorize?max_delay=1h&fail_rate=0",
        "",
        "{}",
    )
    .await;
    // Leaving before the request is read would be no request at all.
    while server.stats().requests == 0 {
        tokio::task::yield_now().await;
    }
    drop(impatient);
    let told = record(&mut records, |record| record.path == "/payment/authorize").await;
    assert_eq!((told.fault, told.status), (Some("client-gone"), None));
    let stats = server.stats();
    assert_eq!(
        (
            stats.routes["/payment/authorize"].abandoned,
            stats.payments.authorized
        ),
        (1, 0)
    );
}

#[tokio::test]
async fn a_wrong_configuration_does_not_start() {
    let start = |config| Faulty::start(config).err().unwrap();
    let error = start(FaultyConfig {
        fail_rate: 200,
        ..FaultyConfig::default()
    });
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        error.to_string(),
        "fail_rate: 200 is not allowed; give a percentage from 0 to 100"
    );
    let open_to_all = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = start(FaultyConfig {
        listen: open_to_all,
        ..FaultyConfig::default()
    });
    assert!(error.to_string().contains("loopback"), "{error}");
    let server = self::start(FaultyConfig::default());
    let taken = start(FaultyConfig {
        listen: server.local_addr(),
        ..FaultyConfig::default()
    });
    assert_eq!(taken.kind(), ErrorKind::AddrInUse);
}

#[test]
fn outside_a_runtime_it_is_an_error() {
    assert!(Faulty::start(FaultyConfig::default()).is_err());
}

#[tokio::test]
async fn stats_are_served_as_json() {
    let server = start(FaultyConfig::default());
    get(&server, "/ok").await;
    get(&server, "/status/500").await;
    let json = get(&server, "/stats").await.json();
    assert_eq!(json["requests"], 3);
    assert_eq!(json["routes"]["/ok"]["successes"], 1);
    assert_eq!(json["routes"]["/status/{code}"]["faults"]["status"], 1);
}

#[tokio::test]
async fn leaving_a_stream_ends_it() {
    let server = start(FaultyConfig::default());
    let mut records = server.records();
    let mut events = open(&server, "GET", "/sse?every=1h", "", "").await;
    let mut seen = Vec::new();
    while !seen.ends_with(b"id: 1\n") {
        seen.push(soon(events.read_u8()).await.unwrap());
    }
    drop(events);
    let url = format!("ws://{}/ws?every=1h&drop=clean", server.local_addr());
    let (mut socket, _) = soon(Box::pin(tokio_tungstenite::connect_async(url)))
        .await
        .unwrap();
    soon(socket.next()).await.unwrap().unwrap();
    drop(socket);
    for path in ["/sse", "/ws"] {
        let told = record(&mut records, |record| record.path == path).await;
        assert_eq!((told.fault, told.items), (Some("client-gone"), 1), "{path}");
        assert_eq!(server.stats().routes[path].abandoned, 1, "{path}");
    }
}

//! Two servers behind one address.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use mysql_async::prelude::Queryable as _;
use redeliver_outbox::{
    desk::{Desk as _, Grade, Layout, Schema as _},
    store::{MySqlStore, Names, Store as _, StoreErrorKind},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::support::{connect, demand, server};

const SERVERS: [&str; 2] = ["REDELIVER_TEST_MARIADB", "REDELIVER_TEST_MYSQL"];

/// Sends each connection to another server than the one before; all are cut when it is told so.
async fn proxy(servers: [String; 2]) -> (u16, watch::Sender<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (cut, cuts) = watch::channel(0);
    let count = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let server = &servers[count.fetch_add(1, Ordering::SeqCst) % 2];
            let mut far = TcpStream::connect(server).await.unwrap();
            let mut cuts = cuts.clone();
            cuts.borrow_and_update();
            tokio::spawn(async move {
                tokio::select! {
                    _ = cuts.changed() => {}
                    _ = copy_bidirectional(&mut near, &mut far) => {}
                }
            });
        }
    });
    (port, cut)
}

/// The same empty outbox on both servers, behind one address.
async fn both(name: &str) -> (MySqlStore, watch::Sender<usize>) {
    let name = format!("redeliver_{name}_{}", std::process::id());
    for variable in SERVERS {
        let server = server(variable);
        let mut root = connect(&format!("{server}/mysql")).await;
        root.query_drop(format!("CREATE DATABASE {name}")).await.unwrap();
        let url = format!("{server}/{name}?prefer_socket=false");
        let store = MySqlStore::connect(&url, Names::default()).await.unwrap();
        store.migrate(Layout { shards: 1 }, None).await.unwrap();
    }
    let host = |variable| server(variable).rsplit('@').next().unwrap().to_owned();
    let (port, cut) = proxy(SERVERS.map(host)).await;
    let url = format!("mysql://root@127.0.0.1:{port}/{name}?prefer_socket=false");
    (MySqlStore::connect(&url, Names::default()).await.unwrap(), cut)
}

#[tokio::test]
async fn a_reader_refuses_to_read_two_servers_in_turns() {
    let (store, cut) = both("turns").await;
    let mut reader = store.reader();
    reader.own(redeliver_outbox::store::Lease { shard: 0, epoch: 1 });
    let mut refused = 0;
    // Every read finds its connection cut, at the latest at its second attempt, and makes another one.
    for round in 1..=12 {
        match reader.read(&demand(10)).await {
            Ok(_) => {}
            Err(error) if error.kind() == StoreErrorKind::Unreachable => {}
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
                assert!(
                    error.to_string().contains("different servers in turns"),
                    "{error}"
                );
                refused += 1;
            }
        }
        cut.send_replace(round);
    }
    assert!(refused > 0, "two servers were read in turns, and nobody noticed");
}

#[tokio::test]
async fn the_doctor_tells_of_two_servers_behind_one_address() {
    let (store, _cut) = both("doctor").await;
    let findings = store.examine().await.unwrap();
    let address = findings
        .iter()
        .find(|finding| finding.topic == "address")
        .unwrap();
    assert_eq!(address.grade, Grade::Problem, "{address:?}");
    let primary = findings
        .iter()
        .find(|finding| finding.topic == "primary")
        .unwrap();
    assert_eq!(primary.grade, Grade::Good, "{primary:?}");
}

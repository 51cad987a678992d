use std::time::Duration;

use mysql_async::prelude::Queryable;
use redeliver_outbox::store::{Beat, MySqlStore, Names, Store as _, StoreErrorKind, WorkerId};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::{SERVER, support::{Database, demand, insert, read_until}};

#[tokio::test]
async fn a_connection_that_is_cut_costs_one_error_and_no_message() {
    let database = Database::with_shards(SERVER, 2).await;
    let mut client = database.client().await;
    let (_, _, mut reader) = database.owner("w").await;
    let first = insert(&mut client, None, "1").await;
    assert_eq!(read_until(&mut reader, 1).await[0].number(), first);
    let second = insert(&mut client, None, "2").await;
    let ids: Vec<u64> = client
        .query(
            "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
        )
        .await
        .unwrap();
    assert!(!ids.is_empty());
    for id in ids {
        client.query_drop(format!("KILL {id}")).await.unwrap();
    }
    let found = loop {
        match reader.read(&demand(10)).await {
            Ok(found) => break found,
            Err(error) => assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}"),
        }
    };
    assert_eq!(found.fresh.len(), 1);
    assert_eq!(found.fresh[0].number(), second);
}

#[tokio::test]
async fn what_cannot_be_reached_says_so_without_its_password() {
    let error = MySqlStore::connect("mysql://app:s3cret@127.0.0.1:1/db", Names::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    assert!(!format!("{error:?} {error}").contains("s3cret"));
    let url = super::support::server(SERVER).replace("root@", "nobody:s3cret@");
    let error = MySqlStore::connect(&format!("{url}/mysql"), Names::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Denied);
    assert!(!format!("{error}").contains("s3cret"));
    let error = MySqlStore::connect("postgres://app:s3cret@h/db", Names::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::BadInput);
    assert!(!format!("{error:?} {error}").contains("s3cret"));
}

/// Carries bytes, unless it is silent. A connection that has met the silence stays in it.
async fn proxy(server: String) -> (u16, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (silence, heard) = watch::channel(false);
    tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let mut heard = heard.clone();
            let mut far = TcpStream::connect(&server).await.unwrap();
            tokio::spawn(async move {
                tokio::select! {
                    biased;
                    () = async { drop(heard.wait_for(|silent| *silent).await) } => std::future::pending().await,
                    _ = copy_bidirectional(&mut near, &mut far) => {}
                }
            });
        }
    });
    (port, silence)
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up_as_often_as_it_does() {
    let database = Database::with_shards(SERVER, 2).await;
    let (user, rest) = database.url.split_once('@').unwrap();
    let (server, name) = rest.split_once('/').unwrap();
    let (port, silence) = proxy(server.to_owned()).await;
    let through = format!("{user}@127.0.0.1:{port}/{name}");
    let store = MySqlStore::connect(&through, Names::default()).await.unwrap();
    let store = store.with_patience(Duration::from_millis(300));
    let beat = Beat {
        worker: WorkerId("w".to_owned()),
        lease: Duration::from_secs(60),
        in_flight: 0,
        destinations: redeliver_outbox::live::Live::new(),
    };
    // More often than there are connections: none of them is lost for good.
    for _ in 0..12 {
        silence.send_replace(false);
        store.beat(&beat).await.unwrap();
        silence.send_replace(true);
        let error = store.beat(&beat).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    }
}

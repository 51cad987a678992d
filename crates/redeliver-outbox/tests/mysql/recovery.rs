use mysql_async::prelude::Queryable;
use redeliver_outbox::store::{MySqlStore, Names, StoreErrorKind};

use crate::support::{Database, demand, insert, read_until};

#[tokio::test]
async fn a_connection_that_is_cut_costs_one_error_and_no_message() {
    let database = Database::with_shards(2).await;
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
    let url = crate::support::server().replace("root@", "nobody:s3cret@");
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

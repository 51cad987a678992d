//! Rows whose numbers the sequence has not given: after a switchover that left the sequence behind, a restore of the data alone, a
//! producer that writes the column.

use std::collections::BTreeSet;

use redeliver_outbox::{
    desk::{Desk as _, Grade},
    store::{Settlement, Store as _},
};
use tokio_postgres::Client;

use crate::database::{Database, delivered, insert, owning_reader, room, scalar, worker};

/// Rows with these numbers, in lanes of five or without one.
async fn insert_strange(client: &Client, first: i64, count: i64) {
    let statement = format!(
        "INSERT INTO redeliver_outbox (number, destination, lane, payload)
         SELECT n, 'd', CASE WHEN n % 2 = 0 THEN 'k' || n / 5 END, n::text
           FROM generate_series({first}, {}) AS n",
        first + count - 1
    );
    client.batch_execute(&statement).await.unwrap();
}

/// Reads and settles until nothing is left, and says what came how often.
async fn deliver_all(
    store: &redeliver_outbox::store::PostgresStore,
    reader: &mut Box<dyn redeliver_outbox::store::Reader>,
    leases: &[redeliver_outbox::store::Lease],
    left: &Client,
) -> Vec<i64> {
    let mut all = Vec::new();
    for _ in 0..200 {
        let found = reader.read(&room(100)).await.unwrap();
        let settlements: Vec<Settlement> = found
            .fresh
            .iter()
            .chain(&found.due)
            .map(|message| delivered(leases[usize::from(message.shard)], message.id))
            .collect();
        all.extend(settlements.iter().map(Settlement::number));
        store.settle(&worker("w"), &settlements).await.unwrap();
        if scalar(left, "SELECT count(*) FROM redeliver_outbox").await == "0" {
            return all;
        }
    }
    panic!(
        "{} rows were never read",
        scalar(left, "SELECT count(*) FROM redeliver_outbox").await
    );
}

#[tokio::test]
async fn rows_above_the_sequence_hide_no_others() {
    let (database, store) = Database::migrated(4).await;
    let client = database.client().await;
    let (mut reader, leases) = owning_reader(&store).await;
    insert_strange(&client, 5_000_001, 400).await;
    for _ in 0..20 {
        insert(&client, None, "{}").await;
    }
    let mut all = deliver_all(&store, &mut reader, &leases, &client).await;
    for _ in 0..200 {
        insert(&client, None, "{}").await;
    }
    all.extend(deliver_all(&store, &mut reader, &leases, &client).await);
    assert_eq!(all.len(), 620, "each once");
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 620);
}

/// They come whenever they are inserted, also while the sequence stands still, and with every read until they are settled.
#[tokio::test]
async fn rows_above_the_sequence_are_due_until_they_are_settled() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    let (mut reader, leases) = owning_reader(&store).await;
    let honest = insert(&client, None, "{}").await;
    assert_eq!(reader.read(&room(10)).await.unwrap().fresh.len(), 1);
    assert!(reader.read(&room(10)).await.unwrap().is_empty());
    insert_strange(&client, 1_000, 30).await;
    let found = reader.read(&room(20)).await.unwrap();
    assert_eq!((found.due.len(), found.more), (20, true));
    let again = reader.read(&room(100)).await.unwrap();
    assert_eq!((again.due.len(), again.fresh.len(), again.more), (30, 0, false));
    // Once the sequence has come to them they are like all others.
    client
        .batch_execute("SELECT setval('redeliver_outbox_number', 1029)")
        .await
        .unwrap();
    let found = reader.read(&room(100)).await.unwrap();
    assert_eq!((found.due.len(), found.fresh.len()), (0, 30));
    let settlements: Vec<Settlement> = found
        .fresh
        .iter()
        .map(|message| delivered(leases[0], message.id))
        .collect();
    store.settle(&worker("w"), &settlements).await.unwrap();
    assert_eq!(insert(&client, None, "{}").await, 1_030);
    assert_eq!(
        reader.read(&room(10)).await.unwrap().fresh[0].number(),
        1_030,
        "after {honest}"
    );
}

#[tokio::test]
async fn doctor_says_how_to_mend_the_sequence() {
    let (database, store) = Database::migrated(2).await;
    let client = database.client().await;
    let finding = async || {
        let findings = store.examine().await.unwrap();
        let sequence = findings.into_iter().filter(|finding| finding.topic == "sequence");
        sequence.collect::<Vec<_>>()
    };
    assert_eq!(finding().await[0].grade, Grade::Good);
    insert(&client, None, "{}").await;
    insert_strange(&client, 900, 3).await;
    let found = finding().await;
    assert_eq!(found[0].grade, Grade::Problem);
    assert!(found[0].what.contains("902"), "{}", found[0].what);
    let statement = found[0].next.split('`').nth(1).unwrap();
    client.batch_execute(statement).await.unwrap();
    assert_eq!(insert(&client, None, "{}").await, 903);
    assert_eq!(finding().await[0].grade, Grade::Good);
    client
        .batch_execute("ALTER SEQUENCE redeliver_outbox_number CACHE 20")
        .await
        .unwrap();
    let found = finding().await;
    assert_eq!(found[0].grade, Grade::Problem);
    let statement = found[0].next.split('`').nth(1).unwrap();
    client.batch_execute(statement).await.unwrap();
    assert_eq!(finding().await[0].grade, Grade::Good);
}

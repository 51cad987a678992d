//! What an `ALTER TABLE` that rewrites a table of the outbox does to those who read and write it meanwhile. Such a table is empty
//! for every snapshot that is older than the rewrite.

use redeliver_outbox::{
    DeadReason,
    desk::{Desk as _, MessageRef},
    store::{AfterDeath, Settlement, Store as _, Verdict},
};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::database::{
    Database, attempted, connect, delivered, id_of, insert, numbers, owning_reader, read, scalar, until,
    worker,
};

/// Copies the table, and makes whoever waits for its end wait until the lock on 7 is let go.
fn rewrite(url: &str, table: &'static str) -> JoinHandle<()> {
    let url = url.to_owned();
    tokio::spawn(async move {
        let client = connect(&url).await;
        let rewrite = format!(
            "BEGIN; ALTER TABLE {table} ADD COLUMN filled uuid DEFAULT gen_random_uuid();
             SELECT pg_advisory_xact_lock(7); COMMIT"
        );
        client.batch_execute(&rewrite).await.unwrap();
    })
}

/// So many others wait for a lock.
async fn waiting(client: &Client, count: usize) {
    let waiting = format!(
        "SELECT count(*) = {count} FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'"
    );
    until(client, &waiting).await;
}

/// The writer of the first row is late, the rewrite waits for it, and the read for the rewrite.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_is_found_by_a_read_that_waits_for_a_rewrite() {
    let (database, store) = Database::migrated(1).await;
    let (mut reader, _) = owning_reader(&store).await;
    let (writer, client) = (database.client().await, database.client().await);
    writer.batch_execute("BEGIN").await.unwrap();
    let late = insert(&writer, None, "late").await;
    let passed = insert(&client, None, "passed").await;
    assert_eq!(numbers(&read(&mut reader).await.fresh), [passed]);
    client.batch_execute("SELECT pg_advisory_lock(7)").await.unwrap();
    let rewritten = rewrite(&database.url, "redeliver_outbox");
    waiting(&client, 1).await;
    writer.batch_execute("COMMIT").await.unwrap();
    until(
        &client,
        "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'",
    )
    .await;
    let reading = tokio::spawn(async move {
        let found = read(&mut reader).await;
        (reader, found)
    });
    waiting(&client, 2).await;
    client
        .batch_execute("SELECT pg_advisory_unlock(7)")
        .await
        .unwrap();
    rewritten.await.unwrap();
    let (mut reader, found) = reading.await.unwrap();
    let mut all = numbers(&found.fresh);
    for _ in 0..3 {
        all.extend(numbers(&read(&mut reader).await.fresh));
    }
    assert_eq!(all, [late]);
}

/// A lane that an operator parked stays parked for a read that waits for a rewrite of the table of lanes.
#[tokio::test(flavor = "multi_thread")]
async fn a_rewrite_of_the_lanes_resumes_none() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    client
        .batch_execute(
            "INSERT INTO redeliver_lanes (shard, destination, lane, head, parked_at) VALUES (0, 'd', 'k', 0, now())",
        )
        .await
        .unwrap();
    let (mut reader, _) = owning_reader(&store).await;
    client.batch_execute("SELECT pg_advisory_lock(7)").await.unwrap();
    let rewritten = rewrite(&database.url, "redeliver_lanes");
    waiting(&client, 1).await;
    let reading = tokio::spawn(async move { read(&mut reader).await });
    waiting(&client, 2).await;
    client
        .batch_execute("SELECT pg_advisory_unlock(7)")
        .await
        .unwrap();
    rewritten.await.unwrap();
    assert_eq!(reading.await.unwrap().parked.len(), 1);
}

/// Settles, claims and what an operator does wait for the rewrite and then find what is there.
#[tokio::test(flavor = "multi_thread")]
async fn verdicts_are_written_after_a_rewrite() {
    let (database, store) = Database::migrated(1).await;
    let client = database.client().await;
    let (mut reader, leases) = owning_reader(&store).await;
    let (arrives, dies) = (
        insert(&client, None, "{}").await,
        insert(&client, Some("k"), "{}").await,
    );
    read(&mut reader).await;
    client.batch_execute("SELECT pg_advisory_lock(7)").await.unwrap();
    let rewritten = rewrite(&database.url, "redeliver_outbox");
    waiting(&client, 1).await;
    let settling = tokio::spawn({
        let (store, lease) = (store.clone(), leases[0]);
        async move {
            let dead = Settlement {
                lease,
                id: id_of(dies),
                redrives: 0,
                verdict: Verdict::Dead {
                    attempted: Some(attempted(1, "no")),
                    reason: DeadReason::Permanent,
                    error: "no".to_owned(),
                    lane: AfterDeath::Park,
                },
            };
            let settlements = [delivered(lease, id_of(arrives)), dead];
            store.settle(&worker("w"), &settlements).await
        }
    });
    waiting(&client, 2).await;
    let shown = tokio::spawn({
        let store = store.clone();
        async move { store.find(MessageRef::Number(arrives)).await }
    });
    waiting(&client, 3).await;
    client
        .batch_execute("SELECT pg_advisory_unlock(7)")
        .await
        .unwrap();
    rewritten.await.unwrap();
    settling.await.unwrap().unwrap();
    assert!(shown.await.unwrap().unwrap().is_some());
    assert_eq!(
        scalar(&client, "SELECT count(*) FROM redeliver_outbox").await,
        "0"
    );
    let ends = "SELECT (SELECT count(*) FROM redeliver_sent), (SELECT count(*) FROM redeliver_dead), \
                       (SELECT count(*) FROM redeliver_lanes)";
    let row = client.query_one(ends, &[]).await.unwrap();
    assert_eq!([row.get::<_, i64>(0), row.get(1), row.get(2)], [1, 1, 1]);
}

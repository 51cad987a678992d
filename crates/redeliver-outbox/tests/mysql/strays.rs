//! Rows with shards and numbers that somebody has written.

use mysql_async::{Error, prelude::Queryable as _};
use redeliver_outbox::{
    DeadReason,
    desk::{Layout, Schema as _},
    store::{AfterDeath, Demand, Settlement, Store as _, Verdict},
};

use super::{
    SERVER,
    support::{Database, count, demand, insert},
};

#[tokio::test]
async fn a_shard_that_does_not_exist_is_refused() {
    let database = Database::with_shards(SERVER, 4).await;
    let mut client = database.client().await;
    for shard in [-1, 4, 63, 32767] {
        let sql = format!(
            "INSERT INTO redeliver_outbox (shard, destination, payload) VALUES ({shard}, 'billing', '{{}}')"
        );
        let refused = client.query_drop(sql).await;
        assert!(
            matches!(&refused, Err(Error::Server(error)) if [3819, 4025].contains(&error.code)),
            "shard {shard}: {refused:?}"
        );
    }
    let sql = "INSERT INTO redeliver_outbox (shard, destination, payload) VALUES (3, 'billing', '{}')";
    client.query_drop(sql).await.unwrap();
}

/// The tables of an earlier version took them.
#[tokio::test]
async fn rows_of_shards_that_do_not_exist_are_moved_by_the_migration() {
    let database = Database::empty(SERVER).await;
    let layout = Layout { shards: 4 };
    database.store.migrate(layout, Some(10)).await.unwrap();
    let mut client = database.client().await;
    let sql = "INSERT INTO redeliver_outbox (shard, destination, lane, payload)
        VALUES (-1, 'billing', NULL, '{}'), (63, 'billing', 'k', '{}')";
    client.query_drop(sql).await.unwrap();
    database.store.migrate(layout, None).await.unwrap();
    let (_, _, mut reader) = database.owner("w").await;
    assert_eq!(reader.read(&demand(10)).await.unwrap().fresh.len(), 2);
    let sql = "SELECT COUNT(*) FROM redeliver_outbox WHERE lane = 'k' AND shard = CRC32(lane) % 4";
    assert_eq!(client.query_first(sql).await.unwrap(), Some(1));
    database.store.migrate(layout, Some(10)).await.unwrap();
}

/// No id has room for such a number: a verdict on it would not find its row.
#[tokio::test]
async fn a_row_with_a_number_below_1_gets_another_one() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    let (_, _, mut reader) = database.owner("w").await;
    let first = insert(&mut client, None, "first").await;
    for (number, due) in [(i64::MIN, "NULL"), (-7, "NULL"), (-1, "'2020-01-01 00:00:00'")] {
        let sql = format!(
            "INSERT INTO redeliver_outbox (number, destination, lane, payload, next_attempt_at)
             VALUES ({number}, 'billing', 'k', '{number}', {due})"
        );
        client.query_drop(sql).await.unwrap();
    }
    let looking = Demand {
        behind: 10,
        ..demand(10)
    };
    let found = reader.read(&looking).await.unwrap();
    assert!(found.due.is_empty() && found.fresh.len() == 1, "{found:?}");
    let found = reader.read(&looking).await.unwrap();
    let payloads: Vec<_> = found.fresh.iter().chain(&found.due).collect();
    let payloads: Vec<_> = payloads
        .iter()
        .map(|message| (message.payload.as_text().unwrap(), message.number() > first))
        .collect();
    assert_eq!(
        payloads,
        [("-9223372036854775808", true), ("-7", true), ("-1", true)],
        "in their order"
    );
    assert_eq!(count(&mut client, "redeliver_outbox").await, 4);
}

/// MariaDB takes surrogates for characters; a name in Rust cannot have them.
#[tokio::test]
async fn a_destination_that_is_no_unicode_becomes_a_dead_letter() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    let sql = "INSERT INTO redeliver_outbox (destination, payload) VALUES (CONVERT(x'eda080' USING utf8mb4), '{}')";
    if client.query_drop(sql).await.is_err() {
        return;
    }
    let (worker, claimed, mut reader) = database.owner("w").await;
    let found = reader.read(&demand(10)).await.unwrap();
    let verdict = Verdict::Dead {
        attempted: None,
        reason: DeadReason::UnknownDestination,
        error: "unknown".to_owned(),
        lane: AfterDeath::None,
    };
    let settlement = Settlement::of(&found.fresh[0], claimed[0].lease, verdict);
    database.store.settle(&worker, &[settlement]).await.unwrap();
    assert_eq!(count(&mut client, "redeliver_dead").await, 1);
}

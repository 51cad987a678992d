use mysql_async::prelude::Queryable as _;
use redeliver_outbox::desk::{Desk as _, Filter, Look as _};

use super::{
    SERVER,
    support::{page, with_a_parked_lane},
};

/// The least that both servers accept.
const CACHE: usize = 400;

#[tokio::test]
async fn views_are_read_while_the_servers_cache_of_tables_is_full() {
    let (database, dead, _) = with_a_parked_lane(SERVER).await;
    let mut client = database.client().await;
    let before: u64 = client
        .query_first("SELECT @@GLOBAL.table_definition_cache")
        .await
        .unwrap()
        .unwrap();
    let shrink = format!("SET GLOBAL table_definition_cache = {CACHE}");
    client.query_drop(shrink).await.unwrap();
    let tables: Vec<String> = (0..CACHE + 50).map(|n| format!("filler_{n}")).collect();
    for table in &tables {
        let create = format!("CREATE TABLE {table} (n INT) ENGINE = MEMORY");
        client.query_drop(create).await.unwrap();
    }
    // Opened, so that they are in the cache.
    for tables in tables.chunks(50) {
        let all: Vec<String> = tables.iter().map(|table| format!("SELECT n FROM {table}")).collect();
        client.query_drop(all.join(" UNION ALL ")).await.unwrap();
    }
    let found = database.store.list(&Filter::default(), page(10), true).await;
    let storage = database.store.storage().await;
    let restore = format!("SET GLOBAL table_definition_cache = {before}");
    client.query_drop(restore).await.unwrap();
    let found = found.unwrap();
    assert!(found.iter().any(|record| record.id == dead && record.last_attempt_at.is_some()));
    storage.unwrap();
}

use mysql_async::{Error, prelude::Queryable as _};

use super::{SERVER, support::Database};

/// The statement of the documentation, with another key.
fn documented(key: &str) -> String {
    let page = include_str!("../../../../docs/tables.md");
    let behind = page.split("-- MySQL, MariaDB\n").nth(1).unwrap();
    let statement = behind.lines().next().unwrap();
    assert!(statement.contains("redeliver_deduplication"), "{statement}");
    statement.replace("order-7-created", key)
}

#[tokio::test]
async fn the_documented_statement_cuts_no_key() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    let code = |result: Result<(), Error>| match result {
        Ok(()) => 0,
        Err(Error::Server(error)) => error.code,
        Err(error) => panic!("{error}"),
    };
    let key = "k".repeat(500);
    for (key, expected) in [(key.clone(), 0), (key.clone(), 1062), (format!("{key}x"), 1406)] {
        assert_eq!(code(client.query_drop(documented(&key)).await), expected, "{} bytes", key.len());
    }
}

#[tokio::test]
async fn every_client_can_compare_what_the_view_shows() {
    let database = Database::with_shards(SERVER, 1).await;
    let mut client = database.client().await;
    let insert = "INSERT INTO redeliver_outbox (destination, payload) VALUES ('a', '{}')";
    client.query_drop(insert).await.unwrap();
    let collations: Vec<String> = client
        .query("SELECT collation_name FROM information_schema.collations WHERE collation_name LIKE 'utf8mb4%i'")
        .await
        .unwrap();
    assert!(collations.iter().any(|name| name == "utf8mb4_general_ci"));
    for collation in collations {
        let names = format!("SET NAMES utf8mb4 COLLATE {collation}");
        client.query_drop(names).await.unwrap();
        for condition in [
            "status NOT IN ('sent', 'dead_lettered')",
            "status <> 'sent'",
            "id <> 'x'",
            "place = 'live'",
            "fingerprint = ''",
        ] {
            let sql = format!("SELECT count(*) FROM redeliver_messages WHERE {condition}");
            let count = client.query_first::<u64, _>(sql).await;
            assert_eq!(count.unwrap(), Some(1), "{condition} with {collation}");
        }
    }
}

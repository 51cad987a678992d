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

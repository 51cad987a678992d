//! Producers that do not trust each other: each has a view with its own de-duplication keys.

use mysql_async::{Conn, Error, Opts, OptsBuilder, prelude::Queryable};

use super::{SERVER, support::Database};

const VIEW: &str = "CREATE VIEW acme_deduplication AS
    SELECT deduplication_key, number, salt FROM redeliver_deduplication WHERE deduplication_key LIKE 'acme:%'
    WITH CHECK OPTION";

async fn take(tenant: &mut Conn, table: &str, key: &str) -> Result<u64, Option<u16>> {
    let sql = format!("INSERT INTO {table} (deduplication_key, number, salt) VALUES ('{key}', 0, 0)");
    match tenant.query_drop(sql).await {
        Ok(()) => Ok(tenant.affected_rows()),
        Err(Error::Server(refused)) => Err(Some(refused.code)),
        Err(_) => Err(None),
    }
}

#[tokio::test]
async fn a_tenant_with_a_view_takes_no_key_of_another() {
    let database = Database::with_shards(SERVER, 4).await;
    let mut root = database.client().await;
    root.query_drop(VIEW).await.unwrap();
    let name: String = root.query_first("SELECT DATABASE()").await.unwrap().unwrap();
    let user = format!("{}_t", name.trim_start_matches("redeliver_"));
    for sql in [
        format!("CREATE USER {user}@'127.0.0.1' IDENTIFIED BY 'secret'"),
        format!("GRANT INSERT ON {name}.acme_deduplication TO {user}@'127.0.0.1'"),
    ] {
        root.query_drop(sql).await.unwrap();
    }
    let opts = OptsBuilder::from_opts(Opts::from_url(&database.url).unwrap())
        .user(Some(&user))
        .pass(Some("secret"))
        .prefer_socket(false);
    let mut tenant = Conn::new(opts).await.unwrap();
    assert_eq!(
        take(&mut tenant, "acme_deduplication", "acme:order-7").await,
        Ok(1)
    );
    for (table, key, code) in [
        ("acme_deduplication", "acme:order-7", 1062),
        ("acme_deduplication", "other:order-7", 1369),
        ("redeliver_deduplication", "acme:order-8", 1142),
        ("redeliver_deduplication", "other:order-7", 1142),
    ] {
        assert_eq!(
            take(&mut tenant, table, key).await,
            Err(Some(code)),
            "{table} {key}"
        );
    }
    root.query_drop(format!("DROP USER {user}@'127.0.0.1'"))
        .await
        .unwrap();
}

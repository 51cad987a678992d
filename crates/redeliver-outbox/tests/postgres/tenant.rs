//! Producers that do not trust each other: each has a view with its own de-duplication keys.

use crate::database::Database;

const VIEW: &str = "CREATE VIEW acme_deduplication AS
    SELECT deduplication_key, number, salt FROM redeliver_deduplication WHERE deduplication_key LIKE 'acme:%'
    WITH CHECK OPTION";

#[tokio::test]
async fn a_tenant_with_a_view_takes_no_key_of_another() {
    let (database, _store) = Database::migrated(4).await;
    let client = database.client().await;
    let role = format!("{}_acme", database.name());
    let tenant =
        format!("CREATE ROLE {role}; {VIEW}; GRANT INSERT ON acme_deduplication TO {role}; SET ROLE {role}");
    client.batch_execute(&tenant).await.unwrap();
    let take = |table: &str, key: &str| {
        format!(
            "INSERT INTO {table} (deduplication_key, number, salt) VALUES ('{key}', 0, 0) ON CONFLICT DO NOTHING"
        )
    };
    for (key, rows) in [("acme:order-7", 1), ("acme:order-7", 0)] {
        let taken = client
            .execute(&take("acme_deduplication", key), &[])
            .await
            .unwrap();
        assert_eq!(taken, rows, "{key}");
    }
    for (table, key, code) in [
        ("acme_deduplication", "other:order-7", "44000"),
        ("acme_deduplication", "acm", "44000"),
        ("redeliver_deduplication", "acme:order-8", "42501"),
        ("redeliver_deduplication", "other:order-7", "42501"),
    ] {
        let refused = client.execute(&take(table, key), &[]).await.unwrap_err();
        assert_eq!(
            refused.code().map(|code| code.code()),
            Some(code),
            "{table} {key}"
        );
    }
    let drop = format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}");
    client.batch_execute(&drop).await.unwrap();
}

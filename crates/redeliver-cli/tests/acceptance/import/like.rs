use super::{import, payloads};
use crate::database::{Database, Kind};

/// A table as the comments of each mapping describe it, with a row that is done where it says so, and two that are left.
const TABLES: [(&str, Kind, &str, &str); 3] = [
    (
        "debezium",
        Kind::Postgres,
        "CREATE TABLE outboxevent (id uuid PRIMARY KEY, aggregatetype varchar(255), aggregateid varchar(255), type varchar(255), payload jsonb)",
        "INSERT INTO outboxevent VALUES ('01932d3a-0001-7c3a-9b1e-0e02b2c3d479', 'orders', '7', 'OrderPaid', '{\"n\":1}'), \
         ('01932d3a-0002-7c3a-9b1e-0e02b2c3d479', 'orders', '7', 'OrderSent', '{\"n\":2}')",
    ),
    (
        "rails",
        Kind::Postgres,
        "CREATE TABLE outbox_messages (id bigserial PRIMARY KEY, event_type varchar, aggregate_type varchar, aggregate_id bigint, \
         payload jsonb, headers jsonb DEFAULT '{}', published_at timestamp, created_at timestamp, updated_at timestamp)",
        "INSERT INTO outbox_messages (event_type, aggregate_id, payload, published_at) VALUES ('orders', 7, '{\"n\":0}', now()), \
         ('orders', 7, '{\"n\":1}', NULL), ('orders', 7, '{\"n\":2}', NULL)",
    ),
    (
        "laravel",
        Kind::MariaDb,
        "CREATE TABLE outbox_messages (id bigint unsigned AUTO_INCREMENT PRIMARY KEY, type varchar(255), destination varchar(255), \
         aggregate_id char(26), payload json, headers json, available_at timestamp NULL, published_at timestamp NULL, \
         created_at timestamp NULL, updated_at timestamp NULL)",
        "INSERT INTO outbox_messages (type, destination, aggregate_id, payload, available_at, published_at) VALUES \
         ('orders', 'api', '7', '{\"n\":0}', NULL, now()), ('orders', 'api', '7', '{\"n\": 1}', now(), NULL), \
         ('orders', 'api', '7', '{\"n\": 2}', NULL, NULL)",
    ),
];

#[test]
fn the_mappings_to_start_from_fit_the_tables_that_they_are_for() {
    let on_mysql = TABLES
        .into_iter()
        .filter(|table| table.1 == Kind::MariaDb)
        .map(|(name, _, table, rows)| (name, Kind::MySql, table, rows));
    for (name, kind, table, rows) in TABLES.into_iter().chain(on_mysql) {
        let database = Database::new(kind);
        let mut client = database.client();
        client.run(table);
        client.run(rows);
        let mapping = import(&database, &["--like", name]).out;
        database.configure(&format!(
            "[destinations.api]\ntype = \"log\"\n[routes]\norders = \"api\"\n{mapping}"
        ));
        let ran = import(&database, &[name, "--json"]);
        assert_eq!(
            (ran.code, ran.figures()),
            (Some(0), [2, 2, 0, 0]),
            "{name}: {ran:?}"
        );
        assert_eq!(payloads(&database), [r#"{"n": 1}"#, r#"{"n": 2}"#], "{name}");
        let lanes =
            client.number("SELECT count(*) FROM redeliver_outbox WHERE lane = '7' AND topic = 'orders'");
        assert_eq!(lanes, 2, "{name}");
        // What was taken over is delivered, and does not come back.
        database.redeliver(&["serve", "--until-empty", "--for", "2m"]);
        let ran = import(&database, &[name, "--json"]);
        assert_eq!(ran.figures(), [2, 0, 2, 0], "{name}: {ran:?}");
    }
}

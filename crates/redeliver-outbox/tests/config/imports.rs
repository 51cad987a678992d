use std::path::Path;

use redeliver_outbox::{
    config::Config,
    import::{self, PayloadSource, Source, TableName},
};

use crate::{BILLING, SECRET, parse};

#[test]
fn an_import_says_what_the_columns_are() {
    let commented = Config::example().split("# [import.shop]").nth(1).unwrap();
    let lines = commented
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line));
    let text = format!("{BILLING}[import.shop]\n{}", lines.collect::<Vec<_>>().join("\n"));
    let variables = |name: &str| (name == "SHOP_DATABASE").then(|| format!("mysql://me:{SECRET}@db/shop"));
    let config = Config::parse(&text, Path::new("redeliver.toml"), &variables).unwrap();
    assert!(!format!("{config:?}").contains(SECRET));
    let shop = &config.imports["shop"];
    assert!(shop.database.as_deref().unwrap().contains(SECRET));
    let column = |name: &str| Some(Source::Column(name.to_owned()));
    let fixed = |text: &str| Some(Source::Fixed(text.to_owned()));
    let mapping = import::Mapping {
        table: TableName {
            schema: Some("public".to_owned()),
            name: "outbox_events".to_owned(),
        },
        order: "id".to_owned(),
        condition: Some("published_at IS NULL".to_owned()),
        destination: fixed("billing"),
        topic: column("event_type"),
        key: column("aggregate_id"),
        payload: PayloadSource::Column("payload".to_owned()),
        content_type: fixed("application/json"),
        headers: column("headers"),
        traceparent: column("traceparent"),
        not_before: column("available_at"),
        expires_at: fixed("2030-01-01T00:00:00Z"),
        deduplicate: Some("event_id".to_owned()),
    };
    assert_eq!(shop.mapping, mapping);
}

#[test]
fn the_imports_to_start_from_are_valid() {
    for (name, _) in import::LIKE {
        let config = parse(import::like(name).unwrap()).unwrap();
        assert_eq!(config.imports.keys().collect::<Vec<_>>(), [name]);
    }
}

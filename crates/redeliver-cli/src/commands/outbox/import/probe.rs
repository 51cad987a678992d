//! Whether an import could begin.

use redeliver_outbox::{
    config::ImportSettings,
    desk::Finding,
    import::{Import, Position},
    store::Result,
};

use super::named;
use crate::{
    commands::outbox::{finding, settings::Settings},
    readable,
};

/// Whether the table is there with the columns that the mapping names, and what its rows are ordered by. Nothing is inserted.
pub(in crate::commands::outbox) async fn probe(
    name: &str,
    import: &ImportSettings,
    settings: &Settings,
) -> Finding {
    let address = import.database.as_ref().unwrap_or(&settings.database);
    let table = readable::line(&import.mapping.table.to_string(), 80);
    match first(address, name, import).await {
        Ok(None) => Finding::good("table", format!("{table} is there, and empty")),
        Ok(Some(first)) if first.is_random() => Finding::advice(
            "table",
            format!("{table} is there, but its order column holds random uuids (version 4)"),
            &format!("name a column that grows as import.{name}.order, to be able to follow the table"),
        ),
        Ok(Some(first)) => {
            let first = readable::line(&first.to_string(), 80);
            Finding::good("table", format!("{table} is there, from row {first} on"))
        }
        Err(error) => finding::failed("table", &named(error.into(), address)),
    }
}

async fn first(address: &str, name: &str, import: &ImportSettings) -> Result<Option<Position>> {
    Import::open(address, name, &import.mapping).await?.first().await
}

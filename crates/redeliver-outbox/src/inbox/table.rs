use crate::enqueue::Dialect;

/// The statements of the first migration that make the inbox: it is the same table, whether alone or beside the others.
pub(super) fn statements(dialect: Dialect) -> Vec<String> {
    let migration = match dialect {
        Dialect::Sqlite => include_str!("../store/sqlite/migrations/0001_outbox.up.sql"),
        Dialect::Postgres => include_str!("../store/postgres/migrations/0001_outbox.up.sql"),
        Dialect::Mysql => include_str!("../store/mysql/migrations/0001_outbox.up.sql"),
    };
    let without_comments: String = migration
        .lines()
        .flat_map(|line| [line.split("--").next().unwrap_or_default().trim_end(), "\n"])
        .collect();
    without_comments
        .split(';')
        .filter_map(|statement| statement.find("CREATE ").map(|start| &statement[start..]))
        .filter(|statement| statement.contains("redeliver_inbox"))
        .map(ToOwned::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inbox_is_a_table_and_an_index() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
            let statements = statements(dialect);
            let (table, indexes) = statements.split_first().unwrap();
            assert!(
                table.starts_with("CREATE TABLE ") && table.contains(" redeliver_inbox (\n"),
                "{table}"
            );
            assert!(
                indexes.iter().all(|index| index.starts_with("CREATE INDEX ")),
                "{indexes:?}"
            );
            let all = statements.concat();
            assert!(
                all.contains("local_redeliver_inbox_received") && !all.contains("redeliver_outbox"),
                "{all}"
            );
        }
    }
}

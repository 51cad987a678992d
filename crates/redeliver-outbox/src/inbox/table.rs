use crate::enqueue::Dialect;

/// The statements of the first migration that make the inbox: it is the same table, whether alone or beside the others.
pub(super) fn statements(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    let migration = match dialect {
        Dialect::Sqlite => include_str!("../store/sqlite/migrations/0001_outbox.up.sql"),
        Dialect::Postgres => include_str!("../store/postgres/migrations/0001_outbox.up.sql"),
        Dialect::Mysql => include_str!("../store/mysql/migrations/0001_outbox.up.sql"),
    };
    migration
        .split(";\n")
        .filter_map(|statement| statement.find("CREATE ").map(|start| &statement[start..]))
        .filter(|statement| statement.contains("redeliver_inbox"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inbox_is_a_table_and_an_index() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::Mysql] {
            let statements: Vec<_> = statements(dialect).collect();
            assert_eq!(statements.len(), 2, "{statements:?}");
            assert!(statements[0].starts_with("CREATE TABLE redeliver_inbox ("));
            assert!(
                statements[1].starts_with("CREATE INDEX local_redeliver_inbox_received ON redeliver_inbox (")
            );
        }
    }
}

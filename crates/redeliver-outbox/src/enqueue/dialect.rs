use crate::store::Names;

/// Whose SQL a statement is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite 3.35 or later. Parameters are `?`.
    Sqlite,
    /// PostgreSQL 13 or later. Parameters are `$1`, `$2` and so on.
    Postgres,
    /// MySQL 8 or later and MariaDB 10.6 or later. Parameters are `?`.
    Mysql,
}

/// A dialect's file from the `sql` folder beside the caller.
macro_rules! statement_of {
    ($dialect:expr, $file:literal) => {
        match $dialect {
            $crate::enqueue::Dialect::Sqlite => include_str!(concat!("sql/sqlite/", $file)),
            $crate::enqueue::Dialect::Postgres => include_str!(concat!("sql/postgres/", $file)),
            $crate::enqueue::Dialect::Mysql => include_str!(concat!("sql/mysql/", $file)),
        }
    };
}
pub(crate) use statement_of;

/// What stands on both sides of the part of a statement that is repeated for each row.
const EACH: &str = "/*each*/";

impl Dialect {
    /// The statement with its names filled in and its repeated part written `count` times.
    pub(crate) fn write(self, names: &Names, statement: &str, count: usize) -> String {
        let statement = names.fill(statement.trim_end());
        let mut parts = statement.split(EACH);
        let (Some(before), Some(each), Some(after)) = (parts.next(), parts.next(), parts.next()) else {
            return statement.into_owned();
        };
        let mut written = String::with_capacity(statement.len() + each.len() * count);
        written.push_str(before);
        for row in 0..count {
            if row > 0 {
                written.push_str(", ");
            }
            self.push_row(&mut written, each, row);
        }
        written.push_str(after);
        written
    }

    fn push_row(self, written: &mut String, each: &str, row: usize) {
        if self != Self::Postgres || row == 0 {
            written.push_str(each);
            return;
        }
        let width = each.matches('$').count();
        let mut parts = each.split('$');
        written.push_str(parts.next().unwrap_or_default());
        for (index, part) in parts.enumerate() {
            let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
            written.push('$');
            written.push_str(&(row * width + index + 1).to_string());
            written.push_str(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_written_as_often_as_there_are_messages() {
        let names = Names::new(None, "ob_").unwrap();
        let statement =
            "INSERT INTO redeliver_outbox VALUES /*each*/($1::text, 'x' || $2)/*each*/\nRETURNING 1\n";
        assert_eq!(
            Dialect::Postgres.write(&names, statement, 1),
            "INSERT INTO ob_outbox VALUES ($1::text, 'x' || $2)\nRETURNING 1"
        );
        assert_eq!(
            Dialect::Postgres.write(&names, statement, 3),
            "INSERT INTO ob_outbox VALUES ($1::text, 'x' || $2), ($3::text, 'x' || $4), ($5::text, 'x' || $6)\nRETURNING 1"
        );
        assert_eq!(
            Dialect::Mysql.write(&names, "IN (/*each*/?/*each*/)", 3),
            "IN (?, ?, ?)"
        );
        assert_eq!(
            Dialect::Sqlite.write(&names, "DELETE FROM redeliver_inbox", 9),
            "DELETE FROM ob_inbox"
        );
    }
}

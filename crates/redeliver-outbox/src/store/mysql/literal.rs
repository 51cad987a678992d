//! Statements with their values written into them, for the case that the server cannot keep a prepared one.

use mysql_async::{Params, Value};

/// The statement with each placeholder replaced by its value. A question mark in quotes or in a comment is no placeholder.
///
/// Strings are escaped with backslashes, which the session's `sql_mode` allows.
pub(super) fn filled(sql: &str, values: &Params) -> String {
    let values: &[Value] = match values {
        Params::Positional(values) => values,
        Params::Empty | Params::Named(_) => &[],
    };
    let mut values = values.iter();
    let mut text = String::with_capacity(sql.len() * 2);
    let mut rest = sql;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '\'' | '"' | '`' => quoted(rest, next),
            '-' if rest.starts_with("-- ") => through(rest, "\n"),
            '/' if rest.starts_with("/*") && !is_executable(rest) => through(rest, "*/"),
            '?' => {
                let value = values.next();
                debug_assert!(value.is_some(), "a value for each placeholder: {sql}");
                text.push_str(&value.unwrap_or(&Value::NULL).as_sql(false));
                rest = &rest[1..];
                continue;
            }
            _ => next.len_utf8(),
        };
        let (kept, behind) = rest.split_at(length);
        text.push_str(kept);
        rest = behind;
    }
    debug_assert!(values.next().is_none(), "a placeholder for each value: {sql}");
    text
}

/// Whether the comment holds what one of the two servers executes.
fn is_executable(text: &str) -> bool {
    text.starts_with("/*!") || text.starts_with("/*M!")
}

/// The length of a string or a quoted name, with its quotes.
fn quoted(text: &str, quote: char) -> usize {
    let end = text.get(1..).and_then(|inner| inner.find(quote));
    end.map_or(text.len(), |end| end + 2)
}

/// The length up to the end of the first such mark.
fn through(text: &str, mark: &str) -> usize {
    text.find(mark).map_or(text.len(), |at| at + mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_where_their_placeholders_are() {
        let sql = "-- why?\nSELECT ?, '?', `a?`, \"?\", /* ? */ b /*!80001 OF ? */ FROM t WHERE c = ? AND d IN (?, ?)";
        let values = Params::Positional(vec![
            Value::Int(-7),
            Value::Int(1),
            Value::from("it's \\ \n é?"),
            Value::NULL,
            Value::Bytes(vec![0xff, 0]),
        ]);
        assert_eq!(
            filled(sql, &values),
            "-- why?\nSELECT -7, '?', `a?`, \"?\", /* ? */ b /*!80001 OF 1 */ FROM t WHERE c = 'it\\'s \\\\ \\n é?' \
             AND d IN (NULL, 0xFF00)"
        );
        assert_eq!(
            filled("SELECT 'it''s ?' AS a", &Params::Empty),
            "SELECT 'it''s ?' AS a"
        );
    }
}

use std::borrow::Cow;

use super::{Result, StoreError, StoreErrorKind};

/// What the tables are called: `redeliver_outbox` and so on, unless a prefix or a schema says otherwise.
///
/// Both become part of statements, so both are checked here, once, and can hold nothing but letters, digits and underscores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    schema: Option<String>,
    prefix: String,
}

/// What every statement in a `.sql` file writes before the name of a table.
const TOKEN: &str = "redeliver_";
/// The same in names that a database does not take a schema before: indexes, constraints, functions of its own.
const LOCAL_TOKEN: &str = "local_redeliver_";
const LONGEST: usize = 30;

impl Default for Names {
    fn default() -> Self {
        Self {
            schema: None,
            prefix: TOKEN.to_owned(),
        }
    }
}

impl Names {
    /// Tables whose names begin with `prefix`, in the schema (PostgreSQL) or database (MySQL) `schema`, or wherever the connection
    /// looks first.
    ///
    /// # Errors
    ///
    /// If either is not a lower-case letter followed by lower-case letters, digits and underscores, 30 at most.
    pub fn new(schema: Option<&str>, prefix: &str) -> Result<Self> {
        for (what, name) in [("schema", schema.unwrap_or("x")), ("table prefix", prefix)] {
            check(what, name)?;
        }
        Ok(Self {
            schema: schema.map(ToOwned::to_owned),
            prefix: prefix.to_owned(),
        })
    }

    /// The schema, if one was named.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The prefix.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The statement with its names filled in.
    #[must_use]
    pub fn fill<'a>(&self, statement: &'a str) -> Cow<'a, str> {
        if *self == Self::default() && !statement.contains(LOCAL_TOKEN) {
            return Cow::Borrowed(statement);
        }
        let table = match &self.schema {
            Some(schema) => format!("{schema}.{}", self.prefix),
            None => self.prefix.clone(),
        };
        // The longer token first, by way of a mark that no statement holds.
        let marked = statement.replace(LOCAL_TOKEN, "\u{1}");
        Cow::Owned(marked.replace(TOKEN, &table).replace('\u{1}', &self.prefix))
    }
}

fn check(what: &str, name: &str) -> Result<()> {
    let right = name.len() <= LONGEST
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if right {
        return Ok(());
    }
    let shown: String = name.chars().take(LONGEST + 10).collect();
    let what = format!("the {what} {shown:?} cannot be used");
    let next = "use a lower-case letter followed by lower-case letters, digits and underscores, 30 at most";
    Err(StoreError::new(StoreErrorKind::BadInput, what).next(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in() {
        let statement = "CREATE INDEX local_redeliver_due ON redeliver_outbox (x)";
        assert_eq!(
            Names::default().fill(statement),
            "CREATE INDEX redeliver_due ON redeliver_outbox (x)"
        );
        let names = Names::new(Some("app"), "ob_").unwrap();
        assert_eq!(names.fill(statement), "CREATE INDEX ob_due ON app.ob_outbox (x)");
    }

    #[test]
    fn nothing_is_spliced_that_could_be_more_than_a_name() {
        for bad in [
            "",
            "x; DROP TABLE y",
            "Über",
            "1st",
            "a b",
            "a.b",
            "a\"",
            &"x".repeat(31),
            "_x",
            "A",
        ] {
            assert!(Names::new(None, bad).is_err(), "{bad:?}");
            assert!(Names::new(Some(bad), "ok_").is_err(), "{bad:?}");
        }
    }
}

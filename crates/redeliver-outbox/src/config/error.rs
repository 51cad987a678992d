use std::{
    fmt,
    path::{Path, PathBuf},
};

/// What is wrong with a configuration. No value that may be a secret is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// Where in it; none if it is the whole file.
    pub place: Option<Place>,
    /// Which field, with the tables that it is in: `destinations.billing.timeout`.
    pub field: Option<String>,
    /// What is wrong, and what is allowed.
    pub rule: String,
}

/// A place in a file, as editors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte of a text.
    pub(super) fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

impl ConfigError {
    pub(super) fn whole(file: &Path, rule: String) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            field: None,
            rule,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(Place { line, column }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {}", self.rule)
    }
}

impl std::error::Error for ConfigError {}

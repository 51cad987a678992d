use std::{borrow::Cow, fmt};

/// A statement and the values of its parameters, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statement<'a> {
    /// The text, with the dialect's own placeholders.
    pub sql: String,
    /// What to bind, first placeholder first.
    pub parameters: Vec<Parameter<'a>>,
    pub(crate) returns: Returns,
    /// Whether the same text comes again and again, so that preparing it pays.
    pub(crate) usual: bool,
}

impl<'a> Statement<'a> {
    /// A statement that is run again and again, and only counted.
    pub(crate) const fn counting(sql: String, parameters: Vec<Parameter<'a>>) -> Self {
        Self {
            sql,
            parameters,
            returns: Returns::Count,
            usual: true,
        }
    }
}

/// What a statement answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Only how many rows it changed.
    Count,
    /// Rows of number and salt.
    Numbers,
    /// Rows of number, salt and de-duplication key.
    Keys,
}

/// A value to bind. Each is typed even when it is NULL, because PostgreSQL asks for the type.
#[derive(Clone, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// A 64-bit integer.
    Integer(Option<i64>),
    /// A text.
    Text(Option<Cow<'a, str>>),
    /// Bytes.
    Binary(Option<Cow<'a, [u8]>>),
}

impl<'a> Parameter<'a> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(Some(text.into()))
    }

    pub(crate) const fn integer(integer: i64) -> Self {
        Self::Integer(Some(integer))
    }
}

/// Only the lengths of texts and bytes: a payload may hold what no log should.
impl fmt::Debug for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(Some(integer)) => write!(f, "{integer}"),
            Self::Text(Some(text)) => write!(f, "text of {} bytes", text.len()),
            Self::Binary(Some(bytes)) => write!(f, "{} bytes", bytes.len()),
            Self::Integer(None) | Self::Text(None) | Self::Binary(None) => f.write_str("NULL"),
        }
    }
}

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{error::ConfigError, nearest, source::Source};

/// A table of the file.
#[derive(Clone)]
pub(super) struct Section<'s, 't> {
    source: &'s Source<'t>,
    path: String,
    span: Range<usize>,
    table: &'s DeTable<'t>,
}

/// A value of the file, with the name that leads to it.
#[derive(Clone)]
pub(super) struct Field<'s, 't> {
    pub(super) source: &'s Source<'t>,
    pub(super) path: String,
    pub(super) span: Range<usize>,
    pub(super) value: &'s DeValue<'t>,
}

impl<'s, 't> Section<'s, 't> {
    pub(super) const fn new(
        source: &'s Source<'t>,
        path: String,
        span: Range<usize>,
        table: &'s DeTable<'t>,
    ) -> Self {
        Self {
            source,
            path,
            span,
            table,
        }
    }

    /// Refuses every name but these, before anything else is said: a mistyped name is why another one is missing.
    pub(super) fn only(&self, allowed: &[&str]) -> Result<(), ConfigError> {
        let stranger = self
            .table
            .keys()
            .filter(|key| !allowed.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        match stranger {
            Some(key) => {
                let name = key.get_ref();
                let rule = nearest::unknown(name, allowed);
                Err(self.source.refuse(&key.span(), &self.path_to(name), rule))
            }
            None => Ok(()),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Field<'s, 't>> {
        self.fields()
            .find(|(key, _)| *key == name)
            .map(|(_, field)| field)
    }

    /// The field, which must be there.
    pub(super) fn require(&self, name: &str, rule: &str) -> Result<Field<'s, 't>, ConfigError> {
        let missing = || {
            let rule = format!("is missing: {rule}");
            self.source.refuse(&self.span, &self.path_to(name), rule)
        };
        self.get(name).ok_or_else(missing)
    }

    /// The table of this name, if it is there.
    pub(super) fn section(&self, name: &str) -> Result<Option<Self>, ConfigError> {
        self.get(name).map(|field| field.section()).transpose()
    }

    /// Every field, with its name.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'s str, Field<'s, 't>)> {
        let (source, table) = (self.source, self.table);
        table.iter().map(move |(key, value)| {
            let name: &'s str = key.get_ref().as_ref();
            // A table's own span begins at its header, or in the middle of a dotted key: its name is where people look.
            let span = match value.get_ref() {
                DeValue::Table(_) => key.span(),
                _ => value.span(),
            };
            let field = Field {
                source,
                path: self.path_to(name),
                span,
                value: value.get_ref(),
            };
            (name, field)
        })
    }

    /// The error at the table itself.
    pub(super) fn refuse(&self, rule: impl Into<String>) -> ConfigError {
        self.source.refuse(&self.span, &self.path, rule)
    }

    fn path_to(&self, name: &str) -> String {
        let plain = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        let name = match plain {
            true => name.to_owned(),
            false => format!("{:?}", name.chars().take(64).collect::<String>()),
        };
        match self.path.as_str() {
            "" => name,
            path => format!("{path}.{name}"),
        }
    }
}

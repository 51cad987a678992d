use std::{ops::Range, path::Path};

use redeliver::address::printable;
use toml::de::DeTable;

use super::{
    error::{ConfigError, Place},
    overrides::Overrides,
    section::Section,
};

/// The text, where it stands, and what its environment is.
pub(super) struct Source<'t> {
    pub(super) file: &'t Path,
    /// What the file says, followed by what the environment says.
    pub(super) text: &'t str,
    /// Where the file ends.
    pub(super) length: usize,
    pub(super) overrides: &'t Overrides,
    pub(super) variables: &'t dyn Fn(&str) -> Option<String>,
}

impl<'t> Source<'t> {
    pub(super) fn refuse(&self, span: &Range<usize>, field: &str, rule: impl Into<String>) -> ConfigError {
        let variable = self.variable_at(span.start);
        ConfigError {
            file: variable.map_or_else(
                || self.file.to_owned(),
                |name| format!("the environment variable {name}").into(),
            ),
            place: variable.is_none().then(|| Place::of(self.text, span.start)),
            field: (!field.is_empty()).then(|| field.to_owned()),
            rule: rule.into(),
        }
    }

    /// What is no TOML.
    pub(super) fn syntax(&self, error: &toml::de::Error) -> ConfigError {
        let span = error.span().unwrap_or(0..0);
        let problem = printable(error.message());
        self.refuse(&span, "", format!("this is no TOML: {problem}"))
    }

    /// The whole of the file, with the names that may stand at its top.
    pub(super) fn root<'s>(
        &'s self,
        table: &'s DeTable<'t>,
        allowed: &[&str],
    ) -> Result<Section<'s, 't>, ConfigError> {
        let whole = Section::new(self, String::new(), 0..0, table);
        whole.only(allowed)?;
        Ok(whole)
    }
}

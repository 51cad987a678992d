use std::{ops::Range, path::Path};

use redeliver::address::printable;
use toml::de::DeTable;

use super::{
    error::{ConfigError, Place},
    section::Section,
};

/// The text, where it stands, and what its environment is.
pub(super) struct Source<'t> {
    pub(super) file: &'t Path,
    pub(super) text: &'t str,
    pub(super) variables: &'t dyn Fn(&str) -> Option<String>,
}

impl<'t> Source<'t> {
    pub(super) fn refuse(&self, span: &Range<usize>, field: &str, rule: impl Into<String>) -> ConfigError {
        ConfigError {
            file: self.file.to_owned(),
            place: Some(Place::of(self.text, span.start)),
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

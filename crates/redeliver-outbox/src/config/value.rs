//! What a field may hold.

use std::{fmt, ops::RangeInclusive, time::Duration};

use redeliver::duration;
use toml::de::DeValue;

use super::{
    error::ConfigError,
    section::{Field, Section},
};

impl<'s, 't> Field<'s, 't> {
    /// The error at this value.
    pub(super) fn refuse(&self, rule: impl Into<String>) -> ConfigError {
        self.source.refuse(&self.span, &self.path, rule)
    }

    /// The error at this value, which is no secret and so is shown.
    pub(super) fn instead(&self, rule: impl fmt::Display) -> ConfigError {
        self.refuse(format!("must be {rule}, not {}", Shown(self.value)))
    }

    pub(super) fn text(&self) -> Result<&'s str, ConfigError> {
        self.value.as_str().ok_or_else(|| self.instead("text in quotes"))
    }

    pub(super) fn flag(&self) -> Result<bool, ConfigError> {
        self.value.as_bool().ok_or_else(|| self.instead("true or false"))
    }

    pub(super) fn duration(&self, allowed: RangeInclusive<Duration>) -> Result<Duration, ConfigError> {
        let Some(text) = self.value.as_str() else {
            return Err(self.instead("a duration in quotes, such as \"30s\""));
        };
        let given = duration::parse(text).map_err(|error| self.refuse(error.to_string()))?;
        if allowed.contains(&given) {
            return Ok(given);
        }
        let (least, most) = (
            duration::display(*allowed.start()),
            duration::display(*allowed.end()),
        );
        Err(self.instead(format_args!("{least} to {most}")))
    }

    pub(super) fn count(&self, allowed: RangeInclusive<usize>) -> Result<usize, ConfigError> {
        let (least, most) = (allowed.start(), allowed.end());
        whole(self.value)
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| self.instead(format_args!("a whole number from {least} to {most}")))
    }

    /// A number that may be a fraction. What is infinite or none is in no range.
    pub(super) fn number(&self, allowed: RangeInclusive<f64>) -> Result<f64, ConfigError> {
        let (least, most) = (allowed.start(), allowed.end());
        number(self.value)
            .filter(|number| allowed.contains(number))
            .ok_or_else(|| self.instead(format_args!("a number from {least} to {most}")))
    }

    /// A number of bytes, or a text such as `64MiB`.
    pub(super) fn size(&self, allowed: RangeInclusive<usize>) -> Result<usize, ConfigError> {
        let given = match self.value {
            DeValue::String(text) => bytes(text),
            value => whole(value),
        };
        let (least, most) = (allowed.start(), allowed.end());
        given.filter(|number| allowed.contains(number)).ok_or_else(|| {
            self.instead(format_args!(
                "a size from {least} to {most} bytes, such as 4096 or \"1MiB\""
            ))
        })
    }

    /// One of these words.
    pub(super) fn word(&self, allowed: &[&str]) -> Result<&'s str, ConfigError> {
        self.value
            .as_str()
            .filter(|word| allowed.contains(word))
            .ok_or_else(|| self.instead(format_args!("one of {}", allowed.join(", "))))
    }

    pub(super) fn section(&self) -> Result<Section<'s, 't>, ConfigError> {
        match self.value.as_table() {
            Some(table) => Ok(Section::new(
                self.source,
                self.path.clone(),
                self.span.clone(),
                table,
            )),
            // Its kind alone: what stands where a table of headers should may be a secret.
            None => Err(self.refuse(format!(
                "must be a table, not a value of the kind {}",
                self.value.type_str()
            ))),
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<impl Iterator<Item = Self>, ConfigError> {
        let list = self.value.as_array().ok_or_else(|| self.instead("a list"))?;
        Ok(list.iter().map(|item| Field {
            source: self.source,
            path: self.path.clone(),
            span: item.span(),
            value: item.get_ref(),
        }))
    }

    /// A text that may be a secret, and so may be elsewhere: in an environment variable, `"$NAME"` or `{ env = "NAME" }`, or in a file
    /// beside this one, `{ file = "NAME" }`. It is shown in no error.
    pub(super) fn secret(&self) -> Result<String, ConfigError> {
        match self.value {
            DeValue::String(text) => match text.strip_prefix('$') {
                None => Ok(text.clone().into_owned()),
                Some(rest) if rest.starts_with('$') => Ok(rest.to_owned()),
                Some(name) => self.variable(name),
            },
            DeValue::Table(_) => {
                let table = self.section()?;
                table.only(&["env", "file", "prefix"])?;
                let prefix = table.get("prefix").map(|field| field.text()).transpose()?;
                let value = match (table.get("env"), table.get("file")) {
                    (Some(_), Some(file)) => {
                        return Err(file.refuse("is one place and env is another: leave one of them out"));
                    }
                    (None, Some(file)) => file.secret_file()?,
                    _ => {
                        let name = table.require("env", "the name of an environment variable")?;
                        name.variable(name.text()?)?
                    }
                };
                Ok(prefix.unwrap_or_default().to_owned() + &value)
            }
            _ => {
                Err(self
                    .refuse("must be text in quotes, \"$NAME\", { env = \"NAME\" } or { file = \"NAME\" }"))
            }
        }
    }

    /// One secret, or a list of them with at least one.
    #[cfg(feature = "http")]
    pub(super) fn secrets(&self) -> Result<Vec<String>, ConfigError> {
        let Some(list) = self.value.as_array() else {
            return Ok(vec![self.secret()?]);
        };
        if list.is_empty() {
            return Err(self.refuse("must hold at least one secret"));
        }
        self.items()?.map(|item| item.secret()).collect()
    }

    fn variable(&self, name: &str) -> Result<String, ConfigError> {
        let plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !plain {
            return Err(self.refuse(
                "is no name of an environment variable: those are letters, digits and underscores. A text that begins with $ is written with $$",
            ));
        }
        (self.source.variables)(name).ok_or_else(|| {
            self.refuse(format!(
                "the environment variable {name} is not set, or is no text"
            ))
        })
    }

    /// PEM as it stands here, or in the file that is named here. It may be a secret, and so may what was taken for the name of a file.
    #[cfg(feature = "http")]
    pub(super) fn pem(&self) -> Result<Vec<u8>, ConfigError> {
        let text = self.secret()?;
        if text.contains("-----BEGIN ") {
            return Ok(text.into_bytes());
        }
        std::fs::read(self.beside().join(text)).map_err(|error| {
            self.refuse(format!(
                "is no PEM and names no file beside this one that can be read: {error}"
            ))
        })
    }

    fn beside(&self) -> &'t std::path::Path {
        self.source.file.parent().unwrap_or(self.source.file)
    }

    /// The secret in the file that is named here. Whoever wrote it with an editor ended it with a line break.
    fn secret_file(&self) -> Result<String, ConfigError> {
        let text =
            String::from_utf8(self.contents()?).map_err(|_| self.refuse("names a file that is no text"))?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// What is in the file that is named here, which is looked for beside this one.
    pub(super) fn contents(&self) -> Result<Vec<u8>, ConfigError> {
        let path = self.beside().join(self.text()?);
        std::fs::read(&path)
            .map_err(|error| self.refuse(format!("{} cannot be read: {error}", path.display())))
    }
}

fn whole(value: &DeValue<'_>) -> Option<usize> {
    let number = value.as_integer()?;
    usize::from_str_radix(number.as_str(), number.radix()).ok()
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        value => whole(value)?.to_string().parse().ok(),
    }
}

/// Longest first: `B` ends them all.
const UNITS: [(&str, usize); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

fn bytes(text: &str) -> Option<usize> {
    UNITS.iter().find_map(|(unit, factor)| {
        let number = text.strip_suffix(unit)?.trim_end();
        number.parse::<usize>().ok()?.checked_mul(*factor)
    })
}

/// A value as it may stand in an error: short, and on one line.
struct Shown<'v, 't>(&'v DeValue<'t>);

/// How much of a text is shown, in characters.
const SHOWN: usize = 60;

impl fmt::Display for Shown<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DeValue::String(text) => {
                let start: String = text.chars().take(SHOWN).collect();
                let more = if start.len() < text.len() { "…" } else { "" };
                write!(f, "{start:?}{more}")
            }
            DeValue::Integer(number) => f.write_str(number.as_str()),
            DeValue::Float(number) => f.write_str(number.as_str()),
            DeValue::Boolean(flag) => write!(f, "{flag}"),
            DeValue::Datetime(time) => write!(f, "{time}"),
            DeValue::Array(_) => f.write_str("a list"),
            DeValue::Table(_) => f.write_str("a table"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, expected) in [
            ("64MiB", Some(64 << 20)),
            ("1 kB", Some(1000)),
            ("7B", Some(7)),
            ("7", None),
            ("-1B", None),
            ("1TiB", None),
            ("99999999999999GiB", None),
            ("", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }
}

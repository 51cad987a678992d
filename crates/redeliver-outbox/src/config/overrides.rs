//! Settings from the environment, which go before those of the file: `REDELIVER_RELAY__WORKERS=4` says what `workers = 4` under `[relay]`
//! does.

use std::{iter::repeat_n, ops::Range, path::Path};

use toml::de::{DeTable, DeValue};

use super::{error::ConfigError, source::Source};

/// What the names of the variables begin with.
const PREFIX: &str = "REDELIVER_";
/// What is between a table's name and the names in it.
const WITHIN: &str = "__";
/// What may be said at the top of the file, where there is no table to tell a setting from any other variable.
const AT_THE_TOP: [&str; 3] = ["database", "schema", "prefix"];

/// Settings that variables of the environment say, as the lines of a file.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    text: String,
    lines: Vec<Line>,
}

/// What one variable says.
#[derive(Debug)]
struct Line {
    /// Where it is in the text.
    place: Range<usize>,
    /// The path in the file that it leads to.
    path: String,
    /// The variable's name.
    name: String,
}

impl Overrides {
    /// What these variables say. A variable that is none of ours, or empty, says nothing.
    pub(super) fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut settings: Vec<(String, String, String)> = variables
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .filter_map(|(name, value)| {
                let path = path(name.strip_prefix(PREFIX)?)?;
                Some((path, value, name))
            })
            .collect();
        settings.sort();
        let mut overrides = Self::default();
        for (path, value, name) in settings {
            let start = overrides.text.len();
            overrides
                .text
                .push_str(&format!("{path} = {}\n", written(&value)));
            let place = start..overrides.text.len();
            overrides.lines.push(Line { place, path, name });
        }
        overrides
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The file's text, followed by these settings.
    pub(super) fn after(&self, text: &str) -> String {
        format!("{text}{}", self.text)
    }

    /// These settings, each where it is in the text that follows the file's.
    pub(super) fn placed(&self, behind: usize) -> String {
        let mut placed: String = repeat_n(' ', behind).collect();
        placed.push_str(&self.text);
        placed
    }

    /// The variable whose setting this byte behind the file's end is of.
    pub(super) fn variable(&self, byte: usize) -> Option<&str> {
        let line = self.lines.iter().find(|line| line.place.contains(&byte));
        line.map(|line| line.name.as_str())
    }

    /// Puts the settings over those of the file, table by table down to those that a variable says: what is there goes away as a whole,
    /// as a line of the file would replace another.
    pub(super) fn over<'t>(&self, below: &mut DeTable<'t>, above: DeTable<'t>) {
        self.over_within("", below, above);
    }

    fn over_within<'t>(&self, way: &str, below: &mut DeTable<'t>, above: DeTable<'t>) {
        for (name, value) in above {
            let path = format!("{way}{}", name.get_ref());
            let there = below
                .get_mut(name.get_ref().as_ref())
                .map(|below| below.get_mut());
            match (there, value.get_ref()) {
                (Some(DeValue::Table(below)), DeValue::Table(_)) if !self.says(&path) => {
                    if let DeValue::Table(above) = value.into_inner() {
                        self.over_within(&format!("{path}."), below, above);
                    }
                }
                _ => drop(below.insert(name, value)),
            }
        }
    }

    /// Whether a variable says this setting itself, and not only something within it.
    fn says(&self, path: &str) -> bool {
        self.lines.iter().any(|line| line.path == path)
    }

    /// The error at a variable that does not go with another one.
    pub(super) fn clash(&self, file: &Path, error: &toml::de::Error, behind: usize) -> ConfigError {
        let byte = error.span().unwrap_or(0..0).start.saturating_sub(behind);
        let name = self.variable(byte).unwrap_or("a variable REDELIVER_…");
        ConfigError::whole(
            file,
            format!(
                "the environment variable {name} does not go with another one: {}",
                error.message()
            ),
        )
    }
}

/// The path in the file that a variable's name leads to.
fn path(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let plain = |word: &&str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if AT_THE_TOP.contains(&name.as_str()) {
        return Some(name);
    }
    let words: Vec<&str> = name.split(WITHIN).collect();
    (words.len() > 1 && words.iter().all(plain)).then(|| words.join("."))
}

/// A value as TOML: as it is, if it is some, and else as text.
fn written(value: &str) -> String {
    let alone = format!("value = {value}");
    let is_toml =
        !value.contains(['\n', '#']) && DeTable::parse(&alone).is_ok_and(|table| table.get_ref().len() == 1);
    match is_toml {
        true => value.to_owned(),
        false => text(value),
    }
}

/// A text in quotes.
fn text(value: &str) -> String {
    let mut text = String::from("\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            character if character.is_control() => text.push_str(&format!("\\U{:08X}", u32::from(character))),
            character => text.push(character),
        }
    }
    text.push('"');
    text
}

impl Source<'_> {
    /// The variable whose setting this byte is of, if it is behind the file's end.
    pub(super) fn variable_at(&self, byte: usize) -> Option<&str> {
        self.overrides.variable(byte.checked_sub(self.length)?)
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use crate::config::{Config, Listen};

    fn read(text: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
        let environment = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let variables = |name: &str| (name == "SECRET").then(|| "sqlite:secret.db".to_owned());
        let config = Config::overridden(text, Path::new("redeliver.toml"), environment, &variables);
        config.map_err(|error| error.to_string())
    }

    #[test]
    fn the_environment_goes_before_the_file() {
        let text = "[relay]\nworkers = 2\nlease = \"20s\"\n[destinations.billing]\ntype = \"log\"";
        let config = read(
            text,
            &[
                ("REDELIVER_RELAY__WORKERS", "7"),
                ("REDELIVER_RELAY__SHUTDOWN", "1m"),
                ("REDELIVER_SERVER__LISTEN", "off"),
                ("REDELIVER_DESTINATIONS__AUDIT__TYPE", "log"),
                ("REDELIVER_DESTINATIONS__BILLING__TIMEOUT", "\"3s\""),
                ("REDELIVER_DATABASE", "{ env = \"SECRET\" }"),
                ("REDELIVER_PREFIX", ""),
                ("REDELIVER_LISTEN", "nonsense"),
                ("REDELIVER_TEST_SERVICES", "nonsense"),
                ("PATH", "/bin"),
            ],
        )
        .unwrap();
        assert_eq!(
            (config.relay.workers, config.relay.lease),
            (7, Duration::from_secs(20))
        );
        assert_eq!(config.relay.shutdown, Duration::from_secs(60));
        assert_eq!(config.server.listen, Some(Listen::Off));
        assert_eq!(config.database.as_deref(), Some("sqlite:secret.db"));
        assert_eq!(config.names.prefix(), "redeliver_");
        let names: Vec<&str> = config.destinations.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["audit", "billing"]);
    }

    #[test]
    fn a_table_from_the_environment_replaces_the_one_of_the_file() {
        let text = "database = { file = \"nowhere\", prefix = \"x\" }\n\
                    [destinations.billing]\ntype = \"http\"\nurl = \"https://billing.example.com\"\n\
                    [destinations.search]\ntype = \"log\"\ntimeout = \"3s\"";
        let config = read(
            text,
            &[
                ("REDELIVER_DATABASE", "{ env = \"SECRET\" }"),
                ("REDELIVER_DESTINATIONS__BILLING", "{ type = \"log\" }"),
                ("REDELIVER_DESTINATIONS__SEARCH__CONCURRENCY", "7"),
            ],
        )
        .unwrap();
        assert_eq!(config.database.as_deref(), Some("sqlite:secret.db"));
        let destination = |name| config.destinations.get(name).unwrap();
        assert_eq!(destination("billing").destination.kind(), "log");
        let search = destination("search");
        assert_eq!((search.timeout, search.concurrency), (Duration::from_secs(3), 7));
    }

    #[test]
    fn what_is_wrong_names_the_variable_and_never_its_value() {
        for (name, value, part) in [
            ("REDELIVER_RELAY__WORKRS", "7", "workers"),
            ("REDELIVER_RELAY__WORKERS", "many", "whole number"),
            ("REDELIVER_NOTHING__AT_ALL", "7", "nothing"),
            ("REDELIVER_SERVER__TOKENS__A__SECRET", "hush", "16 to 512"),
        ] {
            let error = read("[relay]\nworkers = 2", &[(name, value)]).unwrap_err();
            assert!(
                error.starts_with(&format!("the environment variable {name}")),
                "{error}"
            );
            assert!(error.contains(part) && !error.contains("hush"), "{error}");
        }
        let error = read(
            "[relay]\nworkers = 2\nwindow = 0",
            &[("REDELIVER_RELAY__LEASE", "5s")],
        )
        .unwrap_err();
        assert!(error.starts_with("redeliver.toml:3:10"), "{error}");
        let twice = [
            ("REDELIVER_RELAY__LEASE", "5s"),
            ("REDELIVER_RELAY__LEASE__X", "5s"),
        ];
        assert!(read("", &twice).unwrap_err().contains("REDELIVER_RELAY__LEASE"));
    }
}

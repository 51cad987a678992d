//! What the configuration says, and the flags before it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use redeliver_outbox::{
    config::{Config, ImportSettings, RelaySettings, ServerSettings, TelemetrySettings},
    desk::Retention,
    destination::{Log, Route, Routes},
    store::Names,
};

use super::database::DEFAULT;
use crate::exit::BadInput;

/// The configuration that is read where it stands, if it does.
const FILE: &str = "redeliver.toml";
/// The destination that is there where none is configured.
pub(super) const BUILT_IN: &str = "log";

/// All that a command of the outbox goes by.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// It may hold a password.
    pub(super) database: String,
    /// The configuration, if there is one.
    pub(super) file: Option<PathBuf>,
    pub(super) names: Names,
    pub(super) relay: RelaySettings,
    pub(super) server: ServerSettings,
    pub(super) telemetry: TelemetrySettings,
    pub(super) retention: Retention,
    pub(super) routes: Routes,
    pub(super) imports: BTreeMap<String, ImportSettings>,
    /// Whether there is no destination but the built-in one.
    pub(super) only_built_in: bool,
    /// Whether there is no configuration, or one that says nothing.
    pub(super) blank: bool,
}

impl Settings {
    /// The address given goes before the file's, and a file that was named must be there.
    pub(super) fn read(database: Option<&str>, file: Option<&Path>) -> Result<Self, BadInput> {
        let usual = || Path::new(FILE).exists().then(|| Path::new(FILE));
        let file = file.or_else(usual);
        let config = match file {
            Some(file) => Config::load(file),
            None => Config::without_file(Path::new(FILE)),
        };
        let config = config.map_err(|error| BadInput(error.to_string()))?;
        Ok(Self::of(config, database, file))
    }

    /// What a file says and nothing else: no variable of the environment goes before it, nor can it name one.
    pub(super) fn read_alone(file: &Path) -> Result<Self, BadInput> {
        let text = fs::read_to_string(file)
            .map_err(|error| BadInput(format!("{}: cannot be read: {error}", file.display())))?;
        let config = Config::parse(&text, file, &|_| None);
        let config = config.map_err(|error| BadInput(error.to_string()))?;
        Ok(Self::of(config, None, Some(file)))
    }

    fn of(config: Config, database: Option<&str>, file: Option<&Path>) -> Self {
        let only_built_in = config.destinations.iter().next().is_none();
        let routes = match only_built_in {
            true => config.destinations.with(BUILT_IN, Route::to(Log)),
            false => config.destinations,
        };
        let database = database.map(ToOwned::to_owned).or(config.database);
        Self {
            database: database.unwrap_or_else(|| DEFAULT.to_owned()),
            file: file.map(Path::to_owned),
            names: config.names,
            relay: config.relay,
            server: config.server,
            telemetry: config.telemetry,
            retention: config.retention,
            routes,
            imports: config.imports,
            only_built_in,
            blank: config.blank,
        }
    }

    /// Whether the database ends with the process.
    pub(super) fn is_in_memory(&self) -> bool {
        let path = self.database.strip_prefix("sqlite:");
        path.is_some_and(|path| path.strip_prefix("//").unwrap_or(path) == ":memory:")
    }

    /// Whether the address of a server stops after its scheme.
    pub(super) fn names_no_server(&self) -> bool {
        let rest = self.database.split_once(':').map(|(_, rest)| rest);
        !self.is_sqlite() && rest.is_some_and(|rest| rest.trim_matches('/').is_empty())
    }

    pub(super) fn is_sqlite(&self) -> bool {
        self.database.starts_with("sqlite:")
    }
}

//! The file that a relay is configured with, `redeliver.toml`.

mod destinations;
mod error;
mod imports;
mod manners;
mod nearest;
#[cfg(feature = "http")]
mod network;
mod overrides;
mod policy;
#[cfg(feature = "http")]
mod request;
mod section;
mod server;
mod settings;
mod source;
mod telemetry;
mod topics;
mod value;

use std::{collections::BTreeMap, fmt, fs::File, io::Read as _, path::Path};

pub use error::{ConfigError, Place};
pub use imports::ImportSettings;
use overrides::Overrides;
pub use server::{Listen, NoListen, Role, ServerSettings, Token};
pub use settings::RelaySettings;
use source::Source;
pub use telemetry::{NoOtlp, Otlp, TelemetrySettings};
use toml::de::DeTable;

use crate::{desk::Retention, destination::Routes, store::Names};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Everything that the file says.
///
/// ```
/// use redeliver_outbox::config::Config;
/// use std::path::Path;
///
/// let text = r#"
///     database = "sqlite:outbox.db"
///     [destinations.billing]
///     type = "http"
///     url = "https://billing.example.com/events"
///     headers = { authorization = "$BILLING_TOKEN" }
///     timeout = "5s"
/// "#;
/// let variables = |name: &str| (name == "BILLING_TOKEN").then(|| "Bearer 123".to_owned());
/// let config = Config::parse(text, Path::new("redeliver.toml"), &variables)?;
/// assert!(config.destinations.get("billing").is_some());
/// # Ok::<(), redeliver_outbox::config::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Config {
    /// Where the outbox is: `sqlite:outbox.db`, `postgres://…`, `mysql://…`. It may hold a password.
    pub database: Option<String>,
    /// What the tables are called.
    pub names: Names,
    /// How the relay works.
    pub relay: RelaySettings,
    /// Where people and programs look in.
    pub server: ServerSettings,
    /// Where traces go.
    pub telemetry: TelemetrySettings,
    /// What is forgotten, and when.
    pub retention: Retention,
    /// Where messages go, and which topics lead where.
    pub destinations: Routes,
    /// Foreign tables that rows can be taken over from, by name.
    pub imports: BTreeMap<String, ImportSettings>,
    /// Whether the file says nothing at all, whatever the environment says.
    pub blank: bool,
}

impl Config {
    /// Reads a file. Values that name an environment variable get it from the process, whose variables also go before what the file says:
    /// `REDELIVER_RELAY__WORKERS=4` is `workers = 4` under `[relay]`.
    ///
    /// # Errors
    /// A file that cannot be read, or that says something wrong: where, and what is allowed.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let unread = |error: std::io::Error| ConfigError::whole(file, format!("cannot be read: {error}"));
        let mut text = String::new();
        let opened = File::open(file).map_err(unread)?;
        opened
            .take(LONGEST + 1)
            .read_to_string(&mut text)
            .map_err(unread)?;
        if text.len() as u64 > LONGEST {
            let rule = format!("is longer than the {LONGEST} bytes that are read");
            return Err(ConfigError::whole(file, rule));
        }
        Self::read(&text, file)
    }

    /// The settings of the process's environment alone, as if they stood in an empty file of this name.
    ///
    /// # Errors
    /// The first thing that is wrong: in which variable, and what is allowed.
    pub fn without_file(file: &Path) -> Result<Self, ConfigError> {
        Self::read("", file)
    }

    fn read(text: &str, file: &Path) -> Result<Self, ConfigError> {
        // What is no text is none of ours: those are looked at by name, and say so.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::overridden(text, file, variables, &|name| std::env::var(name).ok())
    }

    /// Reads a text as if it stood in `file`: errors name it, and the files that it names are looked for beside it.
    ///
    /// # Errors
    /// The first thing that is wrong: where, and what is allowed.
    pub fn parse(
        text: &str,
        file: &Path,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        Self::overridden(text, file, [], variables)
    }

    /// Reads a text, over which these variables of the environment go.
    ///
    /// # Errors
    /// The first thing that is wrong: where, or in which variable, and what is allowed.
    pub fn overridden(
        text: &str,
        file: &Path,
        environment: impl IntoIterator<Item = (String, String)>,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let overrides = Overrides::of(environment);
        let (all, placed) = (overrides.after(text), overrides.placed(text.len()));
        let source = Source {
            file,
            text: &all,
            length: text.len(),
            overrides: &overrides,
            variables,
        };
        let table = DeTable::parse(&all[..text.len()]).map_err(|error| source.syntax(&error))?;
        let mut table = table.into_inner();
        let blank = table.is_empty();
        if !overrides.is_empty() {
            let said = DeTable::parse(&placed).map_err(|error| overrides.clash(file, &error, text.len()))?;
            overrides.over(&mut table, said.into_inner());
        }
        let root = source.root(&table, ROOT)?;
        let relay = settings::relay(root.section("relay")?)?;
        let destinations = topics::routes(
            root.section("routes")?,
            destinations::routes(root.get("destinations"), &relay)?,
        )?;
        Ok(Self {
            database: root.get("database").map(|field| field.secret()).transpose()?,
            names: settings::names(&root)?,
            imports: imports::imports(root.section("import")?.as_ref(), &destinations)?,
            destinations,
            server: server::server(root.section("server")?)?,
            telemetry: telemetry::telemetry(root.section("telemetry")?)?,
            retention: settings::retention(root.section("retention")?)?,
            relay,
            blank,
        })
    }

    /// A file that says everything that can be said, with comments. It is valid as it stands.
    #[must_use]
    pub const fn example() -> &'static str {
        include_str!("example.toml")
    }

    /// What an editor needs to know of the file: a JSON Schema.
    #[must_use]
    pub const fn schema() -> &'static str {
        include_str!("redeliver.schema.json")
    }
}

const ROOT: &[&str] = &[
    "database",
    "schema",
    "prefix",
    "relay",
    "server",
    "telemetry",
    "retention",
    "destinations",
    "routes",
    "import",
];

/// Without the database's address, which may hold a password.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("database", &self.database.as_ref().map(|_| "…"))
            .field("names", &self.names)
            .field("relay", &self.relay)
            .field("server", &self.server)
            .field("telemetry", &self.telemetry)
            .field("retention", &self.retention)
            .field("destinations", &self.destinations)
            .field("imports", &self.imports)
            .field("blank", &self.blank)
            .finish()
    }
}

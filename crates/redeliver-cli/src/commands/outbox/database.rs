//! Where the outbox is, and opening it.

use std::{env, path::PathBuf, sync::Arc};

use clap::Args;
use redeliver::address::shown;
use redeliver_outbox::{
    desk::{Discreet, JobDesk, Layout},
    store::{self, Opened, StoreError, StoreErrorKind},
};

use super::settings::Settings;
use crate::{exit::BadInput, output};

/// Where the outbox is when nobody says.
pub(super) const DEFAULT: &str = "sqlite://redeliver.db";

/// The variable that says so, like all that go before the configuration.
const VARIABLE: &str = "REDELIVER_DATABASE";

/// Which outbox.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Database")]
pub(super) struct DatabaseFlags {
    /// Where the outbox is: sqlite://FILE, postgres://USER@HOST/NAME or mysql://USER@HOST/NAME [default: what the configuration says,
    /// or sqlite://redeliver.db]
    #[arg(long, value_name = "URL", env = VARIABLE, hide_env_values = true)]
    database: Option<String>,
    /// The configuration [default: redeliver.toml in this directory, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// An outbox that is open.
#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) settings: Settings,
    pub(super) opened: Opened,
    desk: Discreet,
}

impl DatabaseFlags {
    pub(super) fn settings(&self) -> Result<Settings, BadInput> {
        // What the variable says is left to the configuration, which knows of secrets that are elsewhere. Whether it is where this has its
        // value from is not told here; a flag that says the same means the same.
        let variable = env::var(VARIABLE).ok();
        let given = self.database.as_deref();
        let given = given.filter(|address| !address.is_empty() && Some(*address) != variable.as_deref());
        Settings::read(given, self.config.as_deref())
    }

    /// An outbox to look at or to work on: one that is there.
    pub(super) async fn open(&self) -> anyhow::Result<Outbox> {
        let settings = self.settings()?;
        if let Some(file) = store::missing_file(&settings.database) {
            let file = file.display();
            let missing = StoreError::new(
                StoreErrorKind::NotMigrated,
                format!("there is no database {file}"),
            );
            let next = "`redeliver migrate` makes it, or name another with --database";
            return Err(missing.next(next).into());
        }
        Outbox::open(settings).await
    }

    /// An outbox to fill: an SQLite file that is new gets its tables.
    pub(super) async fn open_or_make(&self) -> anyhow::Result<Outbox> {
        Outbox::open_or_make(self.settings()?).await
    }
}

impl Outbox {
    pub(super) async fn open(settings: Settings) -> anyhow::Result<Self> {
        if settings.names_no_server() {
            return Err(BadInput(format!(
                "{}: names no database; write postgres://USER@HOST/NAME or mysql://USER@HOST/NAME",
                shown(&settings.database)
            ))
            .into());
        }
        let opened = store::open(&settings.database, &settings.names, settings.relay.kept()).await;
        let opened = opened.map_err(|error| named(&settings, error.into()))?;
        Ok(Self::new(settings, opened))
    }

    /// Whoever looks into it, looks as its routes let them.
    pub(super) fn new(settings: Settings, opened: Opened) -> Self {
        let desk = Discreet::new(Arc::clone(&opened.desk), settings.routes.clone());
        Self {
            settings,
            opened,
            desk,
        }
    }

    /// A desk for whoever looks while a relay works, with connections of its own: those who count must not take the relay's.
    pub(super) async fn desk_beside(&self) -> anyhow::Result<Arc<dyn JobDesk>> {
        let settings = &self.settings;
        if settings.is_sqlite() {
            return Ok(Arc::clone(&self.opened.desk));
        }
        let opened = store::open(&settings.database, &settings.names, settings.relay.kept()).await;
        let opened = opened.map_err(|error| self.named(error.into()))?;
        Ok(opened.desk)
    }

    /// An outbox to fill or to empty: an SQLite file that is new gets its tables.
    pub(super) async fn open_or_make(settings: Settings) -> anyhow::Result<Self> {
        if settings.is_in_memory() {
            return Err(BadInput(format!(
                "{}: a database in memory ends with this command, and every message in it; name a file, such as {DEFAULT}",
                shown(&settings.database)
            ))
            .into());
        }
        let outbox = Self::open(settings).await?;
        if outbox.opened.empty {
            let layout = outbox.desk().usual_layout();
            outbox.make(layout).await?;
        }
        Ok(outbox)
    }

    pub(super) fn desk(&self) -> &dyn JobDesk {
        &self.desk
    }

    /// The desk that hides nothing, for what is put on record.
    pub(super) fn revealed(&self) -> &dyn JobDesk {
        &**self.desk.revealed()
    }

    async fn make(&self, layout: Layout) -> anyhow::Result<()> {
        let made = self.desk().migrate(layout, None).await;
        let made = made.map_err(|error| self.named(error.into()))?;
        if !made.is_empty() {
            output::note(&format!(
                "{}: new, and now has the outbox's tables",
                self.address()
            ));
        }
        Ok(())
    }

    /// The address without its secrets.
    pub(super) fn address(&self) -> String {
        shown(&self.settings.database)
    }

    /// The error with the database that it is about.
    pub(super) fn named(&self, error: anyhow::Error) -> anyhow::Error {
        named(&self.settings, error)
    }
}

/// Only trouble with the database is told with its address; what was asked for wrongly is not about it.
fn named(settings: &Settings, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<StoreError>() {
        Some(trouble)
            if !matches!(
                trouble.kind(),
                StoreErrorKind::BadInput | StoreErrorKind::NotFound | StoreErrorKind::Conflict
            ) =>
        {
            error.context(shown(&settings.database))
        }
        _ => error,
    }
}

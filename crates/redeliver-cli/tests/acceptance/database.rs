use std::{
    env, fs,
    path::PathBuf,
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::client::Client;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
    MariaDb,
    MySql,
}

pub(crate) const ALL: [Kind; 4] = [Kind::Sqlite, Kind::Postgres, Kind::MariaDb, Kind::MySql];
pub(crate) const SERVERS: [Kind; 3] = [Kind::Postgres, Kind::MariaDb, Kind::MySql];

impl Kind {
    /// The server that `./test` has started.
    fn server(self) -> String {
        if self == Self::Sqlite {
            return String::new();
        }
        let variable = self.variable();
        env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is not set: run ./test, which starts the servers"))
    }

    /// What names the server.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::Sqlite => panic!("SQLite has no server"),
            Self::Postgres => "REDELIVER_TEST_POSTGRES",
            Self::MariaDb => "REDELIVER_TEST_MARIADB",
            Self::MySql => "REDELIVER_TEST_MYSQL",
        }
    }

    pub(crate) fn is_mysql_or_mariadb(self) -> bool {
        matches!(self, Self::MariaDb | Self::MySql)
    }

    /// A time, this many milliseconds from now.
    pub(crate) fn time_from_now(self, millis: i64) -> String {
        match self {
            Self::Sqlite => {
                format!("CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ({millis})")
            }
            Self::Postgres => format!("clock_timestamp() + ({millis}) * interval '1 millisecond'"),
            Self::MariaDb | Self::MySql => {
                format!("UTC_TIMESTAMP(3) + INTERVAL ({millis}) * 1000 MICROSECOND")
            }
        }
    }

    /// Whole milliseconds since 1970 of a time.
    pub(crate) fn millis(self, time: &str) -> String {
        match self {
            Self::Sqlite => time.to_owned(),
            Self::Postgres => format!("floor(extract(epoch FROM {time}) * 1000)::bigint"),
            Self::MariaDb | Self::MySql => format!("CAST(UNIX_TIMESTAMP({time}) * 1000 AS SIGNED)"),
        }
    }

    pub(crate) fn now(self) -> String {
        self.millis(&self.time_from_now(0))
    }
}

/// A database of its own, and the folder where commands run on it; both gone afterwards.
pub(crate) struct Database {
    pub(crate) kind: Kind,
    pub(crate) address: String,
    pub(crate) folder: PathBuf,
    server: String,
    name: String,
}

impl Database {
    /// With the outbox's tables.
    pub(crate) fn new(kind: Kind) -> Self {
        let database = Self::empty(kind);
        database.redeliver(&["migrate"]);
        database
    }

    /// With nothing in it.
    pub(crate) fn empty(kind: Kind) -> Self {
        Self::on(kind, kind.server())
    }

    /// With nothing in it, on this server.
    pub(crate) fn on(kind: Kind, server: String) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("accept_{}_{number}", process::id());
        let folder = env::temp_dir().join(&name);
        fs::create_dir(&folder).unwrap();
        let address = match kind {
            Kind::Sqlite => format!("sqlite://{}", folder.join("redeliver.db").display()),
            Kind::Postgres | Kind::MariaDb | Kind::MySql => {
                Client::open(&server).run(&format!("CREATE DATABASE {name}"));
                format!("{}/{name}", server.rsplit_once('/').unwrap().0)
            }
        };
        Self {
            kind,
            address,
            folder,
            server,
            name,
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::open(&self.address)
    }

    /// A session of the server's owner, beside the database.
    pub(crate) fn owner(&self) -> Client {
        Client::open(&self.server)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same database, for another user.
    pub(crate) fn address_for(&self, user: &str) -> String {
        let (scheme, rest) = self.address.split_once("://").unwrap();
        format!("{scheme}://{user}@{}", rest.split_once('@').unwrap().1)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redeliver"));
        command
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        command
            .env_remove("COLUMNS")
            .env("REDELIVER_DATABASE", &self.address)
            .env("REDELIVER_LISTEN", "off")
            .env("REDELIVER_LOG_FORMAT", "human");
        command
    }

    /// Runs a command, which has to succeed.
    #[track_caller]
    pub(crate) fn redeliver(&self, arguments: &[&str]) -> String {
        let ran = self.command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{arguments:?}: {said}");
        String::from_utf8(ran.stdout).unwrap()
    }

    /// Writes the configuration.
    pub(crate) fn configure(&self, text: &str) {
        fs::write(self.folder.join("redeliver.toml"), text).unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        let drop = match self.kind {
            Kind::Sqlite => return,
            Kind::Postgres => format!("DROP DATABASE {} WITH (FORCE)", self.name),
            Kind::MariaDb | Kind::MySql => format!("DROP DATABASE {}", self.name),
        };
        // A server of the test's own may be gone already.
        if let Ok(mut server) = Client::try_open(&self.server) {
            let _ = server.ask(&drop);
        }
    }
}

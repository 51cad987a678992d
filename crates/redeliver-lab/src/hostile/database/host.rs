use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use redeliver::clock;
use tokio::{
    process::Command,
    sync::{Mutex, RwLock},
};

use super::{Connection, Failure, Family};
use crate::crash::{
    database::{
        Kind, mysql, postgres,
        server::{Server, patiently},
    },
    error::{CannotTorment, Result, While as _},
    place::Place,
    relay::Workshop,
};

/// The server that all trials of one kind of database share.
#[derive(Debug)]
pub(in crate::hostile) struct Host {
    pub(in crate::hostile) kind: Kind,
    pub(super) directory: PathBuf,
    pub(super) binary: PathBuf,
    pub(super) address: Option<SocketAddr>,
    server: Mutex<Option<Server>>,
    /// Trials share the server; one that crashes it has it alone.
    pub(in crate::hostile) turn: Arc<RwLock<()>>,
}

/// The database of one trial.
#[derive(Debug)]
pub(in crate::hostile) struct Home {
    pub(in crate::hostile) host: Arc<Host>,
    /// The database's name, or the file's.
    pub(in crate::hostile) name: String,
}

const TEMPLATE: &str = "template_of_trials";

impl Host {
    pub(in crate::hostile) async fn start(kind: Kind, place: &Place) -> Result<Self> {
        let directory = place.arena(kind.as_str())?;
        let server = match kind {
            Kind::Sqlite => None,
            Kind::Postgres => Some(postgres::start(&directory).await?),
            Kind::Mariadb => Some(mysql::start_mariadb(&directory).await?),
            Kind::Mysql => Some(mysql::start_mysql(&directory).await?),
        };
        let host = Self {
            kind,
            directory,
            binary: place.binary().to_owned(),
            address: server.as_ref().map(|server| server.address),
            server: Mutex::new(server),
            turn: Arc::default(),
        };
        if host.family() != Family::Mysql {
            host.make_empty(TEMPLATE).await?;
            host.migrate(TEMPLATE).await?;
        }
        Ok(host)
    }

    pub(in crate::hostile) const fn family(&self) -> Family {
        Family::of(self.kind)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.db"))
    }

    fn url(&self, name: &str) -> String {
        match (self.family(), self.address) {
            (Family::Postgres, Some(address)) => format!("postgres://postgres@{address}/{name}"),
            (Family::Mysql, Some(address)) => format!("mysql://root@{address}/{name}"),
            _ => format!("sqlite://{}", self.file(name).display()),
        }
    }

    pub(super) async fn connect(&self, name: &str) -> Result<Connection> {
        match (self.family(), self.address) {
            (Family::Postgres, Some(address)) => Connection::postgres(address, name).await,
            (Family::Mysql, Some(address)) => Connection::mysql(address, Some(name)).await,
            _ => Connection::sqlite(&self.file(name)),
        }
    }

    /// A connection from which databases are made and dropped.
    async fn connect_to_server(&self) -> Result<Option<Connection>> {
        match (self.family(), self.address) {
            (Family::Postgres, Some(address)) => Connection::postgres(address, "postgres").await.map(Some),
            (Family::Mysql, Some(address)) => Connection::mysql(address, None).await.map(Some),
            _ => Ok(None),
        }
    }

    pub(super) async fn make_empty(&self, name: &str) -> Result<()> {
        match self.connect_to_server().await? {
            Some(mut connection) => {
                let sql = format!("CREATE DATABASE {name}");
                connection.execute(&sql).await.during("make a database")
            }
            None => Ok(()),
        }
    }

    async fn migrate(&self, name: &str) -> Result<()> {
        let workshop = Workshop {
            binary: self.binary.clone(),
            directory: self.directory.clone(),
            destination: SocketAddr::from(([127, 0, 0, 1], 9)),
        };
        workshop.migrate(&self.url(name)).await
    }

    async fn make(&self, name: &str) -> Result<()> {
        match self.family() {
            Family::Sqlite => {
                fs::copy(self.file(TEMPLATE), self.file(name)).during("copy the SQLite file")?;
                Ok(())
            }
            Family::Postgres => {
                // A template must have no connections, and several trials begin at once.
                patiently("make a database from the template", async || {
                    let mut connection = self.connect_to_server().await?.ok_or_else(no_server)?;
                    let sql = format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}");
                    connection.execute(&sql).await.during("make a database")
                })
                .await
            }
            Family::Mysql => {
                self.make_empty(name).await?;
                self.migrate(name).await
            }
        }
    }

    pub(super) async fn drop_database(&self, name: &str) {
        // What cannot be dropped is temporary all the same.
        match self.connect_to_server().await {
            Ok(Some(mut connection)) => {
                let force = if self.family() == Family::Postgres {
                    " WITH (FORCE)"
                } else {
                    ""
                };
                drop(
                    connection
                        .execute(&format!("DROP DATABASE IF EXISTS {name}{force}"))
                        .await,
                );
            }
            _ => {
                for end in ["", "-wal", "-shm"] {
                    drop(fs::remove_file(format!("{}{end}", self.file(name).display())));
                }
            }
        }
    }

    pub(super) async fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut connection = self.connect_to_server().await?.ok_or_else(no_server)?;
        let sql = format!("ALTER DATABASE {from} RENAME TO {to}");
        connection.execute(&sql).await.during("rename a database")
    }

    /// Ends the server as a crash would, and starts it again after a while.
    pub(in crate::hostile) async fn restart(&self, after: Duration) -> Result<()> {
        if let Some(server) = self.server.lock().await.as_mut() {
            server.end_at_once().await?;
            clock::sleep(after).await;
            server.start().await?;
        }
        self.recovered().await
    }

    /// A client's program from where the server runs, if that is not this machine's own system.
    pub(super) async fn client(&self, name: &str) -> Option<Command> {
        self.server.lock().await.as_ref()?.client(name)
    }

    /// Waits until the server can be worked with.
    pub(in crate::hostile) async fn recovered(&self) -> Result<()> {
        patiently("work with the server again", async || {
            if let Some(mut connection) = self.connect_to_server().await? {
                connection.execute("SELECT 1").await.during("ask the server")?;
            }
            Ok(())
        })
        .await
    }

    pub(in crate::hostile) async fn end(&self) {
        if let Some(mut server) = self.server.lock().await.take() {
            // It was only for this; an error leaves it to the end of this program.
            drop(server.end_at_once().await);
        }
    }
}

fn no_server() -> CannotTorment {
    CannotTorment::new("make a database", "there is no server")
}

impl Home {
    pub(in crate::hostile) async fn make(host: &Arc<Host>, name: String) -> Result<Self> {
        host.make(&name).await?;
        Ok(Self {
            host: Arc::clone(host),
            name,
        })
    }

    pub(in crate::hostile) fn family(&self) -> Family {
        self.host.family()
    }

    pub(in crate::hostile) fn url(&self) -> String {
        self.host.url(&self.name)
    }

    pub(in crate::hostile) async fn connect(&self) -> Result<Connection> {
        self.host.connect(&self.name).await
    }

    /// Runs one statement on a connection of its own.
    pub(in crate::hostile) async fn execute(&self, sql: &str) -> std::result::Result<(), Failure> {
        let connected = self.connect().await;
        let mut connection = connected.map_err(|error| Failure::Lost(error.to_string()))?;
        connection.execute(sql).await
    }

    pub(in crate::hostile) async fn end(self) {
        self.host.drop_database(&self.name).await;
    }

    /// Drops a database that this one has replaced.
    pub(in crate::hostile) async fn drop_other(&self, name: &str) {
        self.host.drop_database(name).await;
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.host.directory).join(name)
    }
}

//! Outboxes of their own, to be filled and looked at.

use std::{path::PathBuf, process::Command};

use redeliver_outbox::{Timestamp, store::Names};

use crate::Outcome;

/// An outbox in a folder of its own, and on a server in a schema of its own.
pub(crate) struct Outbox {
    pub(crate) name: &'static str,
    pub(crate) folder: PathBuf,
    pub(crate) address: String,
    schema: Option<String>,
}

/// One on each database that there is, or on this one alone.
pub(crate) fn all(only: Option<&str>) -> Vec<Outcome<Outbox>> {
    let wanted = |name: &str| only.is_none_or(|only| only.eq_ignore_ascii_case(name));
    let server = std::env::var("REDELIVER_TEST_POSTGRES").ok();
    let mut outboxes = Vec::new();
    if wanted("SQLite") {
        outboxes.push(Outbox::make("SQLite", None));
    }
    if let Some(address) = server.filter(|_| wanted("PostgreSQL")) {
        outboxes.push(Outbox::make("PostgreSQL", Some(address)));
    }
    outboxes
}

impl Outbox {
    fn make(name: &'static str, server: Option<String>) -> Outcome<Self> {
        let unique = format!("{}_{:x}", std::process::id(), redeliver::entropy::draw() >> 40);
        let folder = std::env::temp_dir().join(format!("redeliver-desk-{unique}"));
        std::fs::create_dir(&folder)?;
        let schema = server.as_ref().map(|_| format!("desk_{unique}"));
        let address = server.unwrap_or_else(|| format!("sqlite://{}", folder.join("outbox.db").display()));
        Ok(Self {
            name,
            folder,
            address,
            schema,
        })
    }

    /// The configuration: six destinations at this address, and how the tables are called.
    pub(crate) fn configure(&self, url: &str) -> Outcome<()> {
        let mut text = format!("database = {:?}\n", self.address);
        if let Some(schema) = &self.schema {
            text.push_str(&format!("schema = {schema:?}\n"));
        }
        for number in 0..6 {
            text.push_str(&format!(
                "[destinations.destination-{number}]\ntype = \"http\"\nurl = {url:?}\nallow_private = true\n"
            ));
        }
        Ok(std::fs::write(self.folder.join("redeliver.toml"), text)?)
    }

    /// A command of the program that is measured.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redeliver"));
        command.args(arguments).current_dir(&self.folder);
        command
            .env_remove("REDELIVER_DATABASE")
            .env_remove("REDELIVER_LISTEN");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome<()> {
        let ran = self.command(arguments).output()?;
        match ran.status.success() {
            true => Ok(()),
            false => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr)).into()),
        }
    }

    /// Runs statements, one of two dialects.
    pub(crate) async fn execute(&self, sqlite: &str, postgres: &str) -> Outcome<()> {
        let Some(schema) = &self.schema else {
            let now = Timestamp::wall().as_millis().to_string();
            let file = rusqlite::Connection::open(self.folder.join("outbox.db"))?;
            return Ok(file.execute_batch(&sqlite.replace("{now}", &now))?);
        };
        let names = Names::new(Some(schema), "redeliver_")?;
        let (client, connection) = tokio_postgres::connect(&self.address, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(&names.fill(postgres)).await?;
        for table in ["outbox", "sent", "dead"] {
            let statement = format!("VACUUM ANALYZE {schema}.redeliver_{table}");
            client.batch_execute(&statement).await?;
        }
        // Otherwise the server writes for minutes what was just inserted, beside what is measured.
        client.batch_execute("CHECKPOINT").await?;
        Ok(())
    }

    /// As after a drain.
    pub(crate) async fn empty(&self) -> Outcome<()> {
        self.execute("DELETE FROM redeliver_outbox", "TRUNCATE redeliver_outbox")
            .await
    }

    pub(crate) async fn remove(&self) -> Outcome<()> {
        std::fs::remove_dir_all(&self.folder)?;
        if let Some(schema) = &self.schema {
            let (client, connection) = tokio_postgres::connect(&self.address, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            client
                .batch_execute(&format!("DROP SCHEMA {schema} CASCADE"))
                .await?;
        }
        Ok(())
    }
}

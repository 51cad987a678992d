//! Copies of a database, as an operator makes and restores them.

use std::{fs, fs::File, path::PathBuf, process::Stdio};

use tokio::process::Command;

use super::{Family, Home};
use crate::crash::{
    database::{
        Kind, postgres,
        server::{patiently, program},
    },
    error::{CannotTorment, Result, While as _},
};

impl Home {
    /// Copies the database into a file while everything runs.
    pub(in crate::hostile) async fn copy(&self) -> Result<PathBuf> {
        let file = self.path(&format!("{}.copy", self.name));
        drop(fs::remove_file(&file));
        match self.family() {
            Family::Sqlite => {
                let sql = format!("VACUUM INTO '{}'", file.display());
                self.execute(&sql).await.during("copy the SQLite file")?;
            }
            Family::Postgres => {
                let mut dump = self.postgres_program("pg_dump")?;
                run(dump.arg(&self.name), None, Some(&file)).await?;
            }
            Family::Mysql => {
                let mut dump = self.mysql_program("mariadb-dump", "mysqldump").await?;
                dump.args(["--single-transaction", "--skip-lock-tables", "--hex-blob"]);
                if self.host.kind == Kind::Mysql {
                    // The copy goes to the same server, which knows these transactions already.
                    dump.arg("--set-gtid-purged=OFF");
                }
                run(dump.arg(&self.name), None, Some(&file)).await?;
            }
        }
        Ok(file)
    }

    /// Puts the copy into a database of another name, which is this one's from now on.
    pub(in crate::hostile) async fn restore(&mut self, copy: &PathBuf, name: String) -> Result<()> {
        match self.family() {
            Family::Sqlite => {
                fs::copy(copy, self.host.file(&name)).during("restore the SQLite file")?;
            }
            Family::Postgres => {
                self.host.make_empty(&name).await?;
                let mut load = self.postgres_program("psql")?;
                load.args(["-qX", "-v", "ON_ERROR_STOP=1", "-d", &name]);
                run(&mut load, Some(copy), None).await?;
            }
            Family::Mysql => {
                self.host.make_empty(&name).await?;
                let mut load = self.mysql_program("mariadb", "mysql").await?;
                run(load.arg(&name), Some(copy), None).await?;
            }
        }
        self.name = name;
        Ok(())
    }

    /// Gives the database the name of an older one, which ends.
    pub(in crate::hostile) async fn rename(&mut self, name: String) -> Result<()> {
        // Connections that are opened meanwhile are ended too.
        patiently("replace the old database", async || {
            self.host.drop_database(&name).await;
            self.host.rename(&self.name, &name).await
        })
        .await?;
        self.name = name;
        Ok(())
    }

    fn postgres_program(&self, name: &str) -> Result<Command> {
        let mut command = Command::new(program(name, &postgres::installed(), "postgresql-client")?);
        if let Some(address) = self.host.address {
            command.args([
                "-h",
                "127.0.0.1",
                "-U",
                "postgres",
                "-p",
                &address.port().to_string(),
            ]);
        }
        Ok(command)
    }

    /// A client's program, by its name for MariaDB and for MySQL: neither loads the other's dump.
    async fn mysql_program(&self, mariadb: &str, mysql: &str) -> Result<Command> {
        let mut command = match self.host.kind {
            Kind::Mysql => match self.host.client(mysql).await {
                Some(command) => command,
                None => Command::new(program(mysql, &[], "mysql-client")?),
            },
            _ => Command::new(program(mariadb, &[], "mariadb-client")?),
        };
        command.args(["--no-defaults", "--protocol=tcp", "-h", "127.0.0.1", "-u", "root"]);
        if let Some(address) = self.host.address {
            command.args(["-P", &address.port().to_string()]);
        }
        Ok(command)
    }
}

async fn run(command: &mut Command, input: Option<&PathBuf>, output: Option<&PathBuf>) -> Result<()> {
    const WHAT: &str = "dump or restore a database";
    command.stdin(match input {
        Some(file) => Stdio::from(File::open(file).during(WHAT)?),
        None => Stdio::null(),
    });
    command.stdout(match output {
        Some(file) => Stdio::from(File::create(file).during(WHAT)?),
        None => Stdio::null(),
    });
    let child = command
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .during(WHAT)?;
    let ended = child.wait_with_output().await.during(WHAT)?;
    if ended.status.success() {
        return Ok(());
    }
    Err(CannotTorment::new(WHAT, String::from_utf8_lossy(&ended.stderr)))
}

//! Real relay processes.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use tokio::process::{Child, Command};

use super::{
    database::signal,
    destination::{RUN, TIMEOUT},
    error::{CannotTorment, Result, While as _},
};
use crate::history::RelayRun;

pub(crate) const LEASE: Duration = Duration::from_secs(1);
/// Takes everything sooner or later.
pub(crate) const STEADY: &str = "steady";
/// Gives up soon.
pub(crate) const BRITTLE: &str = "brittle";
pub(crate) const STEADY_ATTEMPTS: u32 = 60;
pub(crate) const BRITTLE_ATTEMPTS: u32 = 3;

/// What all runs of an arena's relays have in common.
#[derive(Debug)]
pub(crate) struct Workshop {
    pub(crate) binary: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) destination: std::net::SocketAddr,
}

#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) run: RelayRun,
    child: Child,
    log: PathBuf,
}

impl Workshop {
    pub(crate) fn start(&self, run: RelayRun, database: &str) -> Result<Relay> {
        self.start_with(run, database, &self.configuration(run))
    }

    /// Starts a relay with a configuration of the caller's.
    pub(crate) fn start_with(&self, run: RelayRun, database: &str, settings: &str) -> Result<Relay> {
        let configuration = self.directory.join(format!("relay-{run}.toml"));
        std::fs::write(&configuration, settings).during("write a relay's configuration")?;
        let log = self.directory.join(format!("relay-{run}.log"));
        let child = self
            .command(&log)?
            .args(["serve", "--listen", "off"])
            .arg("--config")
            .arg(&configuration)
            .args(["--database", database])
            .spawn()
            .during("start a relay")?;
        Ok(Relay { run, child, log })
    }

    pub(crate) async fn migrate(&self, database: &str) -> Result<()> {
        let log = self.directory.join("migrate.log");
        let mut child = self
            .command(&log)?
            .args(["migrate", "--database", database])
            .spawn()
            .during("migrate the database")?;
        let status = child.wait().await.during("migrate the database")?;
        if status.success() {
            return Ok(());
        }
        Err(CannotTorment::new("migrate the database", tail(&log)))
    }

    fn command(&self, log: &Path) -> Result<Command> {
        let output = File::create(log).during("write a relay's log")?;
        let errors = output.try_clone().during("write a relay's log")?;
        let mut command = Command::new(&self.binary);
        command
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .kill_on_drop(true);
        Ok(command)
    }

    /// Small limits, so that they are met; short waits, so that nothing takes long.
    fn configuration(&self, run: RelayRun) -> String {
        let (lease, timeout) = (LEASE.as_millis(), TIMEOUT.as_millis());
        let mut text = format!(
            "[relay]\nlease = \"{lease}ms\"\nwindow = 64\nconcurrency = 8\nshutdown = \"5s\"\npoll_latest = \"100ms\"\n"
        );
        for (name, attempts) in [(STEADY, STEADY_ATTEMPTS), (BRITTLE, BRITTLE_ATTEMPTS)] {
            let url = format!("http://{}/{name}", self.destination);
            text.push_str(&format!(
                "\n[destinations.{name}]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\ntimeout = \"{timeout}ms\"\n\
                 headers = {{ {RUN} = \"{run}\" }}\n\
                 policy = {{ base = \"20ms\", max = \"200ms\", max_attempts = {attempts} }}\n"
            ));
            // It puts all off, and its messages are to run out of attempts.
            if name == BRITTLE {
                text.push_str("manners = { breaker = \"off\" }\n");
            }
        }
        text
    }
}

impl Relay {
    pub(crate) fn signal(&self, which: Signal) -> Result<()> {
        signal(&self.child, which)
    }

    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.during("kill a relay")
    }

    /// How it ended, if it did so by itself, and the last that it said.
    pub(crate) fn ended_by_itself(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        Some(format!(
            "run {} ended by itself with {status}: {}",
            self.run,
            tail(&self.log)
        ))
    }

    /// Asks it to stop, and waits.
    pub(crate) async fn stop(&mut self, patience: Duration) -> Result<Option<ExitStatus>> {
        self.signal(Signal::TERM)?;
        match tokio::time::timeout(patience, self.child.wait()).await {
            Ok(status) => status.map(Some).during("wait for a relay"),
            Err(_) => Ok(None),
        }
    }

    pub(crate) fn said(&self) -> String {
        tail(&self.log)
    }

    /// Where its output is.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The most memory that it has had resident so far, in bytes; none once it has ended.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}

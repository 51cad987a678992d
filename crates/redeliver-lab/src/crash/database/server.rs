//! A private server process: started in a directory of its own, on a port of its own, ended as a crash would end it.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use redeliver::clock;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tokio::process::{Child, Command};

use crate::crash::error::{CannotTorment, Result, While as _};

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    user: &'static str,
    /// What ends it without a goodbye to its clients or its files.
    deadly: Signal,
    log: PathBuf,
    /// Where it runs, if it is not installed on this machine.
    root: Option<Root>,
    child: Option<Child>,
}

impl Server {
    pub(crate) fn new(
        name: &'static str,
        user: &'static str,
        deadly: Signal,
        directory: &Path,
    ) -> Result<Self> {
        Ok(Self {
            address: free_address()?,
            name,
            program: PathBuf::new(),
            arguments: Vec::new(),
            user,
            deadly,
            log: directory.join("server.log"),
            root: None,
            child: None,
        })
    }

    pub(crate) fn inside(mut self, root: Option<Root>) -> Self {
        self.root = root;
        self
    }

    pub(crate) fn runs(mut self, program: PathBuf, arguments: impl IntoIterator<Item = String>) -> Self {
        self.program = program;
        self.arguments.extend(arguments);
        self
    }

    /// A client's program of the same version, if the server is not installed on this machine.
    pub(crate) fn client(&self, name: &str) -> Option<Command> {
        let root = self.root.as_ref()?;
        Some(root.command(self.user, &Path::new("/usr/bin").join(name)))
    }

    pub(crate) async fn start(&mut self) -> Result<()> {
        let name = self.name;
        let log = File::options()
            .create(true)
            .append(true)
            .open(&self.log)
            .during("write a server's log")?;
        let errors = log.try_clone().during("write a server's log")?;
        let mut command = match &self.root {
            Some(root) => root.command(self.user, &self.program),
            None => as_user(self.user, &self.program),
        };
        let child = command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .during(format!("start {name}"))?;
        self.child = Some(child);
        let address = self.address;
        patiently(
            &format!("reach {name}, whose log is {}", self.log.display()),
            || async move {
                tokio::net::TcpStream::connect(address)
                    .await
                    .map(drop)
                    .during("connect")
            },
        )
        .await
    }

    pub(crate) async fn end_at_once(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        signal(&child, self.deadly)?;
        child
            .wait()
            .await
            .during(format!("wait for the end of {}", self.name))?;
        Ok(())
    }
}

/// Sends a signal to a process that was started here and has not been waited for.
pub(crate) fn signal(child: &Child, signal: Signal) -> Result<()> {
    let pid = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| CannotTorment::new("send a signal", "the process has ended"))?;
    kill_process(pid, signal).during("send a signal")
}

/// Tries until it works, for a minute at most.
pub(crate) async fn patiently<T, F>(what: &str, mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    const PATIENCE: Duration = Duration::from_secs(60);
    const PAUSE: Duration = Duration::from_millis(20);
    let begun = clock::now();
    loop {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) if clock::now().since(begun) > PATIENCE => {
                return Err(CannotTorment::new(what, error));
            }
            Err(_) => clock::sleep(PAUSE).await,
        }
    }
}

/// A command as the user of a service: servers refuse to run as root.
pub(crate) fn as_user(user: &str, program: &Path) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .arg("--clear-groups")
        .arg(format!("--reuid={user}"))
        .arg(format!("--regid={user}"));
    command.arg("--").arg(program);
    command
}

/// Another system's files in a directory of this one, in which a server runs. What it writes is removed with this.
#[derive(Debug)]
pub(crate) struct Root {
    directory: PathBuf,
    written: PathBuf,
}

impl Root {
    /// Makes the directories inside, under the names that they would have outside.
    pub(super) async fn with(directory: PathBuf, user: &str, arena: &Path, owned: &[&Path]) -> Result<Self> {
        let written = directory.join(arena.strip_prefix("/").unwrap_or(arena));
        std::fs::create_dir_all(&written).during("make a directory in the server's root")?;
        let root = Self { directory, written };
        let mut make = Command::new("chroot");
        make.arg(&root.directory)
            .args(["install", "-d", "-o", user])
            .args(owned);
        run(&mut make, "make data directories in the server's root").await?;
        Ok(root)
    }

    pub(super) fn command(&self, user: &str, program: &Path) -> Command {
        let mut command = Command::new("chroot");
        command
            .arg(format!("--userspec={user}:{user}"))
            .arg(&self.directory)
            .arg(program);
        command
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.written));
        // Other arenas may still be in it.
        if let Some(above) = self.written.parent() {
            drop(std::fs::remove_dir(above));
        }
    }
}

/// An empty directory that the user of a service may write to.
pub(crate) async fn owned(user: &str, directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).during("make a data directory")?;
    if geteuid().is_root() {
        run(
            Command::new("chown").arg(user).arg(directory),
            "give a data directory away",
        )
        .await?;
    }
    Ok(())
}

pub(crate) async fn run(command: &mut Command, what: &str) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().await.during(what)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().rev().take(20).collect();
    Err(CannotTorment::new(
        what,
        said.into_iter().rev().collect::<Vec<_>>().join("\n"),
    ))
}

/// Below the ports that outgoing connections use: the server must find its own free again when it restarts.
fn free_address() -> Result<SocketAddr> {
    const TRIES: usize = 200;
    for _ in 0..TRIES {
        let port = 15_000 + u16::try_from(redeliver::entropy::draw() % 15_000).unwrap_or(0);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err(CannotTorment::new(
        "find a free port",
        "none between 15000 and 30000",
    ))
}

/// The first of these that exists.
pub(crate) fn program(name: &str, folders: &[PathBuf], package: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = folders.iter().cloned().chain(std::env::split_paths(&path));
    places
        .find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
        .ok_or_else(|| {
            CannotTorment::new(
                format!("{name} is missing"),
                format!("install the package {package}, or run scripts/services install"),
            )
        })
}

use std::{
    env, fs,
    io::Write as _,
    path::PathBuf,
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use redeliver_lab::faulty::{Faulty, FaultyConfig, FaultyServer};
use serde_json::Value;
use tokio::runtime::Runtime;

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The lines of JSON on standard output.
    pub(crate) fn json(&self) -> Vec<Value> {
        let lines = self.out.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// That it was done, or what it said instead.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }
}

/// A folder with nothing in it, where commands run; gone afterwards.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("redeliver-outbox-{}-{number}", process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redeliver"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        for variable in ["COLUMNS", "REDELIVER_DATABASE", "VISUAL", "EDITOR"] {
            command.env_remove(variable);
        }
        // One test runs beside the other: a desk is opened only where it is asked for.
        command
            .env("USER", "alice")
            .env("REDELIVER_LISTEN", "off")
            .env("REDELIVER_LOG_FORMAT", "human");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ended(self.command(arguments).output().unwrap())
    }

    /// Runs it with this on its standard input.
    pub(crate) fn feed(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        ended(child.wait_with_output().unwrap())
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// The figures.
    pub(crate) fn status(&self) -> Value {
        self.run(&["status", "--json"]).done().json().remove(0)
    }

    /// Everything about one message.
    pub(crate) fn show(&self, message: &str) -> Value {
        self.run(&["show", message, "--json"]).done().json().remove(0)
    }

    /// Delivers everything.
    pub(crate) fn serve(&self) -> Ran {
        self.run(&["serve", "--until-empty", "--for", "2m"]).done()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn ended(output: process::Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The fault server on a runtime of its own, while the test waits for processes.
pub(crate) struct Lab {
    pub(crate) server: FaultyServer,
    _runtime: Runtime,
}

impl Lab {
    pub(crate) fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let config = FaultyConfig {
            max_delay: Duration::ZERO,
            fail_rate: 30,
            retry_after: 0,
            ..FaultyConfig::default()
        };
        let server = {
            let _entered = runtime.enter();
            Faulty::start(config).unwrap()
        };
        Self {
            server,
            _runtime: runtime,
        }
    }

    /// A configuration with one destination, `api`, at this path of the server.
    pub(crate) fn configure(&self, folder: &Folder, path: &str) {
        let url = format!("{}{path}", self.server.base_url());
        folder.write(
            "redeliver.toml",
            format!(
                "[destinations.api]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\n\
                 policy = {{ base = \"1ms\", max = \"5ms\", max_attempts = 20 }}\n"
            ),
        );
    }
}

/// Text for a snapshot: ids, times and figures of this run are not in it.
pub(crate) fn settled(text: &str, folder: &Folder) -> String {
    text.replace(&folder.0.display().to_string(), "FOLDER")
}

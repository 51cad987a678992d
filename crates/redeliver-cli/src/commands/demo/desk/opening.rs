//! The first words: what runs, where to look, what to try.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use redeliver_policy::duration;
use serde_json::{Value, json};

use super::setting::{self, INTERESTED, PARTS, TOPIC};

/// What is to be said at the start.
pub(super) struct Opening<'a> {
    pub(super) url: Option<&'a str>,
    pub(super) config: &'a Path,
    pub(super) database: &'a str,
    pub(super) api: &'a str,
    pub(super) fail_rate: u8,
    pub(super) time: Option<Duration>,
}

impl Opening<'_> {
    pub(super) fn words(&self, coloured: bool) -> String {
        let place = match self.url {
            Some(url) if coloured => format!("dashboard   \x1b[1;7m {url} \x1b[0m"),
            Some(url) => format!("dashboard   {url}"),
            None => "no dashboard: --listen off".to_owned(),
        };
        let mut parts = String::new();
        for part in PARTS {
            parts.push_str(&format!("  {:<10}  {}\n", part.name, part.words(self.fail_rate)));
        }
        let look = match self.url {
            Some(_) => "Look at the dashboard",
            None => "Look at the lines below",
        };
        let folder = self.config.parent().unwrap_or(self.config).display();
        format!(
            "\n  {place}\n\n\
             A shop writes orders and their messages in one transaction, about 20 messages a second, and rolls\n\
             some back. A relay delivers what was committed, all on this machine:\n{parts}\
             The topic {TOPIC} leads to {}; the other two get messages of their own.\n\n\
             {look} in the first ten seconds: search is throttled, email is retried, the breaker of\n\
             the warehouse opens, is probed and closes on a ramp, crm's dead letters fall into three issues.\n\
             Then try it yourself, there or in another terminal:\n\
             \x20 cd {folder}   (its redeliver.toml is what runs here)\n{}\
             \x20 redeliver destination list\n\
             \x20 redeliver dead issues\n\
             \x20 redeliver destination pause billing --why 'to see'\n\
             {}\n",
            INTERESTED.join(", "),
            setting::first(),
            self.end(),
        )
    }

    fn end(&self) -> String {
        match self.time {
            Some(time) => format!("It ends after {}, or with Ctrl-C.", duration::display(time)),
            None => "Ctrl-C ends it, with a summary.".to_owned(),
        }
    }

    pub(super) fn value(&self) -> Value {
        json!({
            "event": "started",
            "dashboard": self.url,
            "config": self.config.display().to_string(),
            "database": self.database,
            "api": self.api,
            "destinations": PARTS.map(|part| json!({ "name": part.name, "is": part.words(self.fail_rate) })),
        })
    }
}

/// What opens an address on this system, with the words before it.
const fn opener() -> &'static [&'static str] {
    if cfg!(target_os = "macos") {
        &["open"]
    } else if cfg!(windows) {
        &["cmd", "/C", "start", ""]
    } else {
        &["xdg-open"]
    }
}

/// Opens the dashboard in a browser; says why not, if it cannot be.
pub(super) fn browse(url: &str) -> Result<(), String> {
    let (program, words) = opener().split_first().unwrap_or((&"xdg-open", &[]));
    let started = Command::new(program)
        .args(words)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "--open: {program} cannot be started ({error}); open {url} yourself"
        )),
    }
}

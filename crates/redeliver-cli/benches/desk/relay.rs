//! A `redeliver serve` with its desk open.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    sync::mpsc,
    time::Duration,
};

use crate::{Outcome, outbox::Outbox};

/// Longer than anything takes here.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) struct Relay {
    child: Child,
    events: mpsc::Receiver<serde_json::Value>,
    pub(crate) url: String,
}

impl Relay {
    pub(crate) fn start(outbox: &Outbox, more: &[&str]) -> Outcome<Self> {
        let arguments = [&["serve", "--json", "--listen", "127.0.0.1:0"], more].concat();
        let mut child = outbox.command(&arguments).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str(&line) {
                    let _ = sender.send(event);
                }
            }
        });
        let mut relay = Self {
            child,
            events,
            url: String::new(),
        };
        let told = relay.told("listening")?;
        relay.url = told["url"].as_str().ok_or("no address")?.to_owned();
        Ok(relay)
    }

    /// Waits until it tells of this.
    pub(crate) fn told(&self, event: &str) -> Outcome<serde_json::Value> {
        loop {
            let told = self.events.recv_timeout(PATIENCE)?;
            if told["event"] == event {
                return Ok(told);
            }
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

use std::{
    io::{BufRead as _, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use redeliver::clock;

use crate::database::Database;

/// Longer than anything here takes on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A `redeliver serve` process; killed when it is dropped.
pub(crate) struct Relay {
    process: Child,
    said: Arc<Mutex<String>>,
}

impl Relay {
    pub(crate) fn start(database: &Database) -> Self {
        Self::with(database.command(&["serve"]))
    }

    pub(crate) fn with(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let said = Arc::<Mutex<String>>::default();
        keep(process.stdout.take().unwrap(), &said);
        keep(process.stderr.take().unwrap(), &said);
        Self { process, said }
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// The most memory that it has had so far.
    #[track_caller]
    pub(crate) fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits until it has said this.
    #[track_caller]
    pub(crate) fn await_words(&self, words: &str) {
        await_that(&format!("the relay says {words:?}"), || {
            self.said().contains(words).then_some(())
        });
    }

    /// SIGKILL: it has no chance to say anything to anybody.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// It stands still, and knows nothing of it.
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success(), "kill {signal} {id}");
    }

    /// SIGTERM, and waits until it is gone; it has to go in peace.
    #[track_caller]
    pub(crate) fn stop(self) {
        self.await_end(0);
    }

    /// SIGTERM, and waits until it has ended with this code.
    #[track_caller]
    pub(crate) fn await_end(mut self, code: i32) {
        self.signal("-TERM");
        let status = self.process.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{status}: {}", self.said());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn keep(from: impl Read + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap();
            said.push_str(&line);
            said.push('\n');
        }
    });
}

/// Looks again and again until there is an answer.
#[track_caller]
pub(crate) fn await_that<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let limit = clock::now().plus(PATIENCE);
    loop {
        if let Some(answer) = look() {
            return answer;
        }
        assert!(clock::now() < limit, "waited in vain until {what}");
        clock::block(Duration::from_millis(10));
    }
}

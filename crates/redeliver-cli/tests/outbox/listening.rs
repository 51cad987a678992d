//! `redeliver listen` at work beside a test.

use std::{
    io::{BufRead as _, BufReader, Lines, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdout, Stdio},
};

use serde_json::Value;

use crate::bench::Folder;

pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A receiver on a port of its own; gone with the test.
pub(crate) struct Listening {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) address: String,
}

impl Listening {
    pub(crate) fn start(folder: &Folder, options: &[&str]) -> Self {
        let arguments = [&["listen", "--port", "0", "--json", "--for", "2m"], options].concat();
        let mut command = folder.command(&arguments);
        command.env("WEBHOOK_SECRET", SECRET).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let address = first["listening"].as_str().unwrap();
        Self {
            child,
            lines,
            address: address.trim_start_matches("http://").to_owned(),
        }
    }

    /// A configuration with one signed destination, `api`, that leads here.
    pub(crate) fn configure(&self, folder: &Folder, more: &str) {
        let address = &self.address;
        folder.write(
            "redeliver.toml",
            format!(
                "[destinations.api]\ntype = \"http\"\nurl = \"http://{address}/hooks/hunter2\"\nallow_private = true\n\
                 webhook.secrets = \"{SECRET}\"\npolicy = {{ base = \"1ms\", max = \"5ms\", max_attempts = 5 }}\n{more}"
            ),
        );
    }

    /// The next request that it tells.
    pub(crate) fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    /// The summary and the exit code, once it has ended by itself.
    pub(crate) fn ended(mut self) -> (Value, Option<i32>) {
        let mut last = Value::Null;
        for line in self.lines.by_ref() {
            last = serde_json::from_str(&line.unwrap()).unwrap();
        }
        (last["summary"].take(), self.child.wait().unwrap().code())
    }

    /// Posts a body with these headers as they stand; the answer, as far as it came: whoever is not read to the end may be cut off.
    pub(crate) fn post(&self, headers: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let _ = write!(
            socket,
            "POST /raw HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! The only place that writes to the terminal. A reader that went away (`redeliver … | head`) ends the output, not the process.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
};

use anyhow::Context as _;
use serde::Serialize;

/// A line, or several, for standard output.
pub(crate) fn line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// A line for standard output, flushed; whether anybody still reads there.
pub(crate) fn item(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).is_ok()
}

/// Text for standard output as it is, flushed.
pub(crate) fn text(text: &str) {
    bytes(text.as_bytes());
}

/// Bytes for standard output as they are, flushed.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

/// What happens along the way, for standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A value as one line of JSON on standard output, flushed.
pub(crate) fn json(value: &impl Serialize) {
    let mut stdout = io::stdout().lock();
    let _ = serde_json::to_writer(&mut stdout, value).map_err(io::Error::from);
    let _ = stdout.write_all(b"\n").and_then(|()| stdout.flush());
}

/// An error with its causes, in one line.
pub(crate) fn error(error: &anyhow::Error) {
    note(&format!("error: {error:#}"));
}

/// Whether standard output is looked at by a person, who may have colour and redrawn lines.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Where a long piece of work is, on a line of standard error that the next one replaces; nothing unless somebody looks.
pub(crate) fn progress(text: &str) {
    let mut stderr = io::stderr().lock();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
    }
}

/// Writes a drawing into a file.
pub(crate) fn drawing(path: &Path, svg: &str) -> anyhow::Result<()> {
    fs::write(path, svg).with_context(|| {
        let shown = path.display();
        format!("svg file {shown}: cannot be written; name a file in a directory that exists and is yours")
    })
}

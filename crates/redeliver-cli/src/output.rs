//! The only place that writes to the terminal. A reader that went away (`redeliver … | head`) ends the output, not the process; output
//! that was lost for any other reason, as on a full disk, is told at the end.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use redeliver_outbox::store::StoreError;
use serde::Serialize;

/// Why output was lost, the first time that it was.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Whether anything could not be written, for whatever reason.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Whether standard output has refused anything, be it that nobody reads there any more.
pub(crate) fn is_broken() -> bool {
    BROKEN.load(Ordering::Acquire)
}

/// Why some of the output was lost, if it was.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

/// Writes to standard output and flushes it; whether all of it was written.
fn write(text: impl FnOnce(&mut io::StdoutLock<'static>) -> io::Result<()>) -> bool {
    let mut stdout = io::stdout().lock();
    match text(&mut stdout).and_then(|()| stdout.flush()) {
        Ok(()) => true,
        Err(error) => {
            BROKEN.store(true, Ordering::Release);
            if error.kind() != io::ErrorKind::BrokenPipe {
                let _ = LOST.set(error);
            }
            false
        }
    }
}

/// A line, or several, for standard output.
pub(crate) fn line(text: &str) {
    item(text);
}

/// A line for standard output, flushed; whether anybody still reads there.
pub(crate) fn item(text: &str) -> bool {
    write(|stdout| writeln!(stdout, "{text}"))
}

/// Text for standard output as it is, flushed.
pub(crate) fn text(text: &str) {
    bytes(text.as_bytes());
}

/// Bytes for standard output as they are, flushed.
pub(crate) fn bytes(bytes: &[u8]) {
    write(|stdout| stdout.write_all(bytes));
}

/// What happens along the way, for standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A value as one line of JSON on standard output, flushed.
pub(crate) fn json(value: &impl Serialize) {
    json_item(value);
}

/// The same; whether anybody still reads there.
pub(crate) fn json_item(value: &impl Serialize) -> bool {
    write(|stdout| {
        serde_json::to_writer(&mut *stdout, value)?;
        stdout.write_all(b"\n")
    })
}

/// An error with its causes, in one line.
pub(crate) fn error(error: &anyhow::Error) {
    note(&format!("error: {}", causes(error)));
}

/// An error and what led to it. What a database's driver said is not shown: it may tell more than the reader should see.
pub(crate) fn causes(error: &anyhow::Error) -> String {
    let mut causes = Vec::new();
    for cause in error.chain() {
        causes.push(cause.to_string());
        if cause.is::<StoreError>() {
            break;
        }
    }
    causes.join(": ")
}

/// What the person in front of the terminal answers; none if there is nobody to ask.
pub(crate) fn ask(question: &str) -> Option<bool> {
    let mut stderr = io::stderr().lock();
    if !io::stdin().is_terminal() || !stderr.is_terminal() {
        return None;
    }
    write!(stderr, "{question} [y/N] ")
        .and_then(|()| stderr.flush())
        .ok()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Text in the place of what was shown before, where a person looks; below it elsewhere. Whether anybody still reads there.
pub(crate) fn redraw(text: &str) -> bool {
    let clear = if is_terminal() { "\x1b[H\x1b[2J" } else { "" };
    write(|stdout| writeln!(stdout, "{clear}{text}"))
}

/// Ends the line of [`progress`], if there is one.
pub(crate) fn progress_done() {
    progress("");
}

/// Whether standard output is looked at by a person, who may have colour and redrawn lines.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person looks at what happens along the way.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
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

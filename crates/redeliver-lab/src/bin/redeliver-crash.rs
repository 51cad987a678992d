//! Torments real relay processes, and exits with 1 if anything was lost, sent after a rollback, sent twice without a cause, or out of
//! order; with 2 if it could not be tried.

use std::{io::Write as _, process::ExitCode};

use clap::Parser as _;
use redeliver_lab::crash::{self, Options};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let json = options.json;
    let ended = tokio::select! {
        ended = crash::run(options) => ended,
        // Everything that was started ends with what is dropped here.
        _ = tokio::signal::ctrl_c() => return ExitCode::from(130),
        () = asked_to_end() => return ExitCode::from(143),
    };
    let mut stdout = std::io::stdout().lock();
    match ended {
        Ok(report) => {
            let told = if json {
                serde_json::to_string_pretty(&report).unwrap_or_default()
            } else {
                report.to_string()
            };
            // Whoever closed the output has the exit code.
            let _ = writeln!(stdout, "{told}");
            ExitCode::from(u8::from(!report.is_clean()))
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "redeliver-crash: {error}");
            ExitCode::from(2)
        }
    }
}

async fn asked_to_end() {
    match signal(SignalKind::terminate()) {
        Ok(mut asked) => drop(asked.recv().await),
        Err(_) => std::future::pending().await,
    }
}

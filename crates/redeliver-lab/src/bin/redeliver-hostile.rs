//! Attacks real relays with hostile rows, table changes and maintenance. Exits with 1 if a promise was broken, with 2 if it could not be
//! tried.

use std::{io::Write as _, process::ExitCode};

use clap::Parser as _;
use redeliver_lab::hostile::{self, Options};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let json = options.json;
    let ended = tokio::select! {
        ended = hostile::run(options) => ended,
        // Everything that was started ends when this future is dropped.
        _ = tokio::signal::ctrl_c() => return ExitCode::from(130),
        () = terminated() => return ExitCode::from(143),
    };
    let mut stdout = std::io::stdout().lock();
    match ended {
        Ok(report) => {
            let printed = if json {
                serde_json::to_string_pretty(&report).unwrap_or_default()
            } else {
                report.to_string()
            };
            // A reader that closed the output still gets the exit code.
            let _ = writeln!(stdout, "{printed}");
            ExitCode::from(u8::from(!report.is_clean()))
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "redeliver-hostile: {error}");
            ExitCode::from(2)
        }
    }
}

async fn terminated() {
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

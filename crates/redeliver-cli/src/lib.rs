//! The `redeliver` command, as a library: a build makes its code while that of the crates below is still being made, for which a binary waits.

mod chart;
mod commands;
mod ending;
mod exit;
mod output;
mod policy_flags;
mod readable;
mod table;
mod telemetry;
mod web;

use std::process::ExitCode;

use clap::{Parser, error::ErrorKind};

use crate::{commands::Command, exit::Exit};

/// Retries done right, from one call to a durable outbox.
#[derive(Debug, Parser)]
#[command(
    name = "redeliver",
    version,
    arg_required_else_help = true,
    propagate_version = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Does what the command line asks for.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    // rustls refuses to choose between providers by itself; this binary has one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match commands::run(cli.command) {
        Ok(exit) => delivered(exit).into(),
        Err(error) => {
            output::error(&error);
            Exit::of(&error).into()
        }
    }
}

/// What was done, but could not be said, was not done for whoever asked.
fn delivered(exit: Exit) -> Exit {
    let Some(error) = output::lost() else {
        return exit;
    };
    output::note(&format!("error: standard output: {error}"));
    match exit {
        Exit::Done => Exit::Failed,
        told => told,
    }
}

/// Help goes to standard output as it is; a mistake is one line that says what is allowed.
fn refused(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let help = error.render();
        let shown = if output::is_terminal() {
            help.ansi().to_string()
        } else {
            help.to_string()
        };
        output::text(&shown);
        return Exit::Done.into();
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        output::note(&error.render().to_string());
        return Exit::BadInput.into();
    }
    let rendered = error.render().to_string();
    let lines = || rendered.lines().map(str::trim);
    let mistake: Vec<&str> = lines().take_while(|line| !line.is_empty()).collect();
    let tip = lines().find_map(|line| line.strip_prefix("tip: "));
    let tip = tip.map_or(String::new(), |tip| format!("; {tip}"));
    output::note(&format!("{}{tip}", mistake.join(" ")));
    Exit::BadInput.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALERTS: &str = include_str!("../../../docs/alerts.yml");

    /// The commands of a next step, which stand between other words.
    fn commands(step: &str) -> impl Iterator<Item = &str> {
        step.split([';', ','])
            .filter_map(|part| part.find("redeliver ").map(|at| &part[at..]))
    }

    #[test]
    fn whoever_is_woken_by_an_alert_finds_the_commands_that_it_names() {
        let steps: Vec<String> = ALERTS
            .lines()
            .filter_map(|line| line.trim().strip_prefix("next: \"")?.strip_suffix('"'))
            .map(|step| step.replace("{{ $labels.destination }}", "billing"))
            .collect();
        assert_eq!(steps.len(), ALERTS.matches("- alert: ").count());
        let mut tried = 0;
        for command in steps.iter().flat_map(|step| commands(step)) {
            let parsed = Cli::try_parse_from(command.split_whitespace());
            assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
            tried += 1;
        }
        assert!(tried >= steps.len() - 1, "{tried} of {}", steps.len());
    }
}

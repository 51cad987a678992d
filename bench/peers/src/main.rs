//! Runs the laws of a good retry on redeliver and on the other retry crates, and prints what it measured.

mod allocations;
mod arguments;
mod entry;
mod finding;
mod laws;
mod peer;
mod peers;
mod server;
mod table;
mod versions;

use std::process::ExitCode;

use arguments::{Arguments, Form};
use entry::Entry;
use laws::{Effort, Law};
use table::{Row, Table};

/// The row whose laws decide the exit code.
const OURS: &str = "redeliver";

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    if arguments.help {
        println!("{}", arguments::HELP);
        return ExitCode::SUCCESS;
    }
    // A rival that panics does so under a law that is looking for it; its message would only tear the table.
    std::panic::set_hook(Box::new(|_| {}));
    let table = run(&arguments);
    match arguments.form {
        Form::Terminal => print!("{}", table.terminal()),
        Form::Markdown => print!("{}", table.markdown()),
        Form::Json => println!("{:#}", table.json()),
    }
    if ours_keep_every_law(&table) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run(arguments: &Arguments) -> Table {
    let entries = peers::all();
    let effort = arguments.effort;
    let mut rows: Vec<_> = entries.iter().map(row).collect();
    let mut baselines = Vec::new();
    // Timed first: once a clock of tokio's has been paused, reading one costs more for the rest of the process.
    let (timed, judged): (Vec<Law>, Vec<Law>) = arguments.laws.iter().partition(|law| !law.judges());
    let measured: Vec<_> = timed
        .iter()
        .map(|law| (*law, measure(*law, &entries, effort, &mut baselines)))
        .collect();
    for law in judged {
        for (entry, row) in entries.iter().zip(&mut rows) {
            row.findings.push((law, entry.check(law, effort)));
        }
    }
    for (law, findings) in measured {
        for (finding, row) in findings.into_iter().zip(&mut rows) {
            row.findings.push((law, finding));
        }
    }
    Table {
        laws: arguments.laws.clone(),
        rows,
        baselines,
    }
}

fn measure(
    law: Law,
    entries: &[Entry],
    effort: Effort,
    baselines: &mut Vec<(&'static str, f64)>,
) -> Vec<finding::Finding> {
    match law {
        Law::FirstTry => {
            let (findings, bare) = laws::first_try::measure(entries, effort);
            baselines.push(("bare await", bare));
            findings
        }
        Law::WaitCost => {
            let (findings, by_hand) = laws::wait_cost::measure(entries, effort);
            baselines.push(("hand-written integer full jitter", by_hand));
            findings
        }
        _ => laws::allocations::measure(entries),
    }
}

fn row(entry: &Entry) -> Row {
    Row {
        package: entry.package,
        as_documented: entry.as_documented,
        settings: entry.settings,
        findings: Vec::new(),
    }
}

fn ours_keep_every_law(table: &Table) -> bool {
    table.rows.iter().filter(|row| row.package == OURS).all(|row| {
        let (kept, run) = row.score();
        kept == run
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redeliver_keeps_every_law() {
        let entries = peers::all();
        let ours = entries
            .iter()
            .find(|entry| entry.package == OURS)
            .expect("redeliver has a row");
        for law in Law::ALL.into_iter().filter(|law| law.judges()) {
            let finding = ours.check(law, Effort::QUICK);
            assert_eq!(
                finding.verdict,
                finding::Verdict::Kept,
                "{}: {finding:?}",
                law.name()
            );
        }
    }
}

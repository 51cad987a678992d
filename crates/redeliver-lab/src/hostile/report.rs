//! What came of the trials, for people and for programs.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::Serialize;

use super::{
    case::{Case, Commit, Ticket},
    checks::{Findings, Violation},
};
use crate::crash::{CannotTorment, database::Kind};

/// The result of a run.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// The figures of each database.
    pub databases: BTreeMap<&'static str, Figures>,
    /// The broken promises of each trial that had any.
    pub failures: Vec<Failed>,
    /// Where logs were left.
    pub kept: Option<PathBuf>,
}

/// What happened on the databases of one kind.
#[derive(Debug, Default, Serialize)]
pub struct Figures {
    /// Trials that ran.
    pub trials: usize,
    /// Trials with a broken promise.
    pub failed: usize,
    /// Actions by name.
    pub actions: BTreeMap<&'static str, usize>,
    /// Honest messages and events that were committed.
    pub honest: usize,
    /// Hostile rows that the database took.
    pub hostile: usize,
    /// Hostile rows that the schema refused.
    pub refused: usize,
    /// Dead letters by reason.
    pub dead: BTreeMap<String, usize>,
    /// Requests that reached a destination.
    pub arrivals: usize,
    /// Repeated sends by what explains them.
    pub repeats: BTreeMap<&'static str, usize>,
    /// The longest time from the last fault until everything had an end, in milliseconds.
    pub settled_ms: u128,
    /// The most memory that a relay had resident, in bytes.
    pub peak_memory: u64,
    /// Broken promises by checker.
    pub violations: BTreeMap<&'static str, usize>,
}

/// A trial that broke a promise.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// The kind of database.
    pub database: &'static str,
    /// The seed.
    pub seed: u64,
    /// How to run it again.
    pub repeat: String,
    /// What was done, in order.
    pub actions: Vec<String>,
    /// What was broken, each with what led there.
    pub violations: Vec<Broken>,
}

/// A broken promise.
#[derive(Debug, Serialize)]
pub struct Broken {
    /// Which kind.
    pub checker: &'static str,
    /// What.
    pub what: String,
    /// What happened to the messages concerned.
    pub story: Vec<String>,
}

/// A trial at its end.
pub(super) struct Outcome {
    pub(super) database: Kind,
    pub(super) seed: u64,
    pub(super) actions: Vec<&'static str>,
    pub(super) case: Case,
    pub(super) findings: Findings,
    pub(super) notes: Vec<String>,
    pub(super) settled: Duration,
    pub(super) peak_memory: u64,
}

const CHECKERS: [(&str, &str); 11] = [
    ("lost", "lost"),
    ("stalled", "stalled"),
    ("order", "out of order"),
    ("duplicates", "unexplained duplicates"),
    ("early", "sent before their time"),
    ("rolled back", "sent after a rollback"),
    ("unknown", "sent or stored without a cause"),
    ("endings", "not one end, or another payload"),
    ("memory", "memory beyond the bound"),
    ("processes", "processes that ended by themselves or not at all"),
    ("broken off", "trials that could not be carried to their end"),
];
/// How many broken promises of one trial are printed.
const MOST_PRINTED: usize = 4;
const WIDTH: usize = 50;

impl Outcome {
    /// One line for stderr.
    pub(super) fn summary(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for violation in &self.findings.violations {
            *counts.entry(violation.checker).or_default() += 1;
        }
        let verdict = if counts.is_empty() {
            "ok".to_owned()
        } else {
            let counts: Vec<String> = counts
                .iter()
                .map(|(checker, count)| format!("{count} {checker}"))
                .collect();
            format!("FAILED: {}", counts.join(", "))
        };
        format!(
            "{} seed {}: {verdict} ({}; {} messages, {} hostile rows, {} arrivals, settled in {} ms)",
            self.database.as_str(),
            self.seed,
            self.actions.join(" "),
            self.case.messages.len(),
            self.case.hostile.len(),
            self.case.arrivals.len(),
            self.settled.as_millis()
        )
    }
}

impl Report {
    /// Whether every promise was kept.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.failures.is_empty()
    }

    pub(super) fn add(&mut self, outcome: &Outcome, repeat: String) {
        let figures = self.databases.entry(outcome.database.as_str()).or_default();
        let case = &outcome.case;
        figures.trials += 1;
        for action in &outcome.actions {
            *figures.actions.entry(action).or_default() += 1;
        }
        let committed = |commit: Commit| usize::from(commit == Commit::Committed);
        figures.honest += case
            .messages
            .values()
            .map(|message| committed(message.commit))
            .sum::<usize>();
        let taken: usize = case
            .hostile
            .values()
            .map(|hostile| committed(hostile.commit))
            .sum();
        figures.hostile += taken;
        figures.refused += case.hostile.len() - taken;
        for reason in case.rows.iter().filter_map(|row| row.reason.as_ref()) {
            *figures.dead.entry(reason.clone()).or_default() += 1;
        }
        figures.arrivals += case.arrivals.len();
        for (cause, count) in &outcome.findings.repeats {
            *figures.repeats.entry(cause).or_default() += count;
        }
        figures.settled_ms = figures.settled_ms.max(outcome.settled.as_millis());
        figures.peak_memory = figures.peak_memory.max(outcome.peak_memory);
        if outcome.findings.violations.is_empty() {
            return;
        }
        figures.failed += 1;
        for violation in &outcome.findings.violations {
            *figures.violations.entry(violation.checker).or_default() += 1;
        }
        self.failures.push(Failed {
            database: outcome.database.as_str(),
            seed: outcome.seed,
            repeat,
            actions: outcome.notes.clone(),
            violations: outcome
                .findings
                .violations
                .iter()
                .map(|violation| broken(case, violation))
                .collect(),
        });
    }
}

impl Report {
    /// A trial that could not be carried to its end.
    pub(super) fn add_broken_off(
        &mut self,
        database: Kind,
        seed: u64,
        repeat: String,
        error: &CannotTorment,
    ) {
        const CHECKER: &str = "broken off";
        let figures = self.databases.entry(database.as_str()).or_default();
        figures.trials += 1;
        figures.failed += 1;
        *figures.violations.entry(CHECKER).or_default() += 1;
        self.failures.push(Failed {
            database: database.as_str(),
            seed,
            repeat,
            actions: Vec::new(),
            violations: vec![Broken {
                checker: CHECKER,
                what: error.to_string(),
                story: Vec::new(),
            }],
        });
    }
}

fn broken(case: &Case, violation: &Violation) -> Broken {
    let story = |ticket: &Ticket| {
        std::iter::once(format!("message {ticket}"))
            .chain(case.story(*ticket))
            .collect::<Vec<_>>()
    };
    Broken {
        checker: violation.checker,
        what: violation.what.clone(),
        story: violation.tickets.iter().flat_map(story).collect(),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<WIDTH$}", "hostile campaign")?;
        for name in self.databases.keys() {
            write!(f, "{name:>12}")?;
        }
        writeln!(f)?;
        self.line(f, "seeds", |figures| figures.trials.to_string())?;
        self.line(f, "actions", |figures| {
            figures.actions.values().sum::<usize>().to_string()
        })?;
        self.line(f, "honest messages", |figures| figures.honest.to_string())?;
        self.line(f, "hostile rows", |figures| figures.hostile.to_string())?;
        self.line(f, "hostile rows refused", |figures| figures.refused.to_string())?;
        self.line(f, "dead letters", |figures| {
            figures.dead.values().sum::<usize>().to_string()
        })?;
        self.line(f, "arrivals", |figures| figures.arrivals.to_string())?;
        self.line(f, "repeats that a fault explains", |figures| {
            figures.repeats.values().sum::<usize>().to_string()
        })?;
        self.line(f, "longest time to the last end", |figures| {
            format!("{} ms", figures.settled_ms)
        })?;
        self.line(f, "most memory of a relay", |figures| {
            format!("{} MiB", figures.peak_memory >> 20)
        })?;
        for (checker, meaning) in CHECKERS {
            self.line(f, meaning, |figures| {
                figures.violations.get(checker).copied().unwrap_or(0).to_string()
            })?;
        }
        self.line(f, "seeds that failed", |figures| figures.failed.to_string())?;
        for failed in &self.failures {
            write!(f, "\n{failed}")?;
        }
        match &self.kept {
            Some(kept) => writeln!(f, "\nlogs are in {}", kept.display()),
            None => Ok(()),
        }
    }
}

impl Report {
    fn line(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        figure: impl Fn(&Figures) -> String,
    ) -> fmt::Result {
        write!(f, "{what:<WIDTH$}")?;
        for figures in self.databases.values() {
            write!(f, "{:>12}", figure(figures))?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} seed {}; repeat it with: {}",
            self.database, self.seed, self.repeat
        )?;
        for action in &self.actions {
            writeln!(f, "    {action}")?;
        }
        for broken in self.violations.iter().take(MOST_PRINTED) {
            writeln!(f, "  {}: {}", broken.checker, broken.what)?;
            for line in &broken.story {
                writeln!(f, "    {line}")?;
            }
        }
        match self.violations.len().saturating_sub(MOST_PRINTED) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more; --json prints all"),
        }
    }
}

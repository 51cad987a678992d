//! What came of it, for people and for programs.

use std::{collections::BTreeMap, fmt, io::Write as _, path::PathBuf, time::Duration};

use serde::Serialize;

use super::{database::Kind, relay::LEASE, torment::Torment};
use crate::history::{self, DisturbanceKind, Findings, History, Micros, Ticket, Violation};

/// The result of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What decided about chance.
    pub seed: u64,
    /// The figures of each database.
    pub databases: BTreeMap<&'static str, Figures>,
    /// What must not be, with the histories of the messages concerned.
    pub violations: Vec<Told>,
    /// Where databases and logs were left to be looked at.
    pub kept: Option<PathBuf>,
}

/// What happened on the databases of one kind.
#[derive(Debug, Default, Serialize)]
pub struct Figures {
    /// Torments applied.
    pub torments: BTreeMap<&'static str, usize>,
    /// Messages committed, and rolled back.
    pub committed: usize,
    /// Messages whose transactions were rolled back.
    pub rolled_back: usize,
    /// Requests that reached the destination.
    pub arrivals: usize,
    /// Messages delivered.
    pub sent: usize,
    /// Dead letters by reason.
    pub dead: BTreeMap<String, usize>,
    /// Messages that were taken twice, by cause.
    pub duplicates: BTreeMap<&'static str, usize>,
    /// How often the machine itself stalled for a good part of a lease.
    pub stalls: usize,
    /// From each kill to the next message of the killed relay's shards, in microseconds, shortest first.
    pub recoveries: Vec<Micros>,
    /// The longest time until everything had reached its end, in milliseconds.
    pub drained_ms: u128,
    /// Violations by checker.
    pub violations: BTreeMap<&'static str, usize>,
}

/// A violation, told with what led there.
#[derive(Debug, Serialize)]
pub struct Told {
    /// Where.
    pub arena: String,
    /// What.
    pub what: String,
    /// What led there.
    pub story: Vec<String>,
}

/// An arena at its end.
pub(super) struct Ended {
    database: Kind,
    name: String,
    torments: Vec<Torment>,
    drained: Duration,
    history: History,
    findings: Findings,
}

impl Ended {
    pub(super) fn of(
        database: Kind,
        name: String,
        torments: &[Torment],
        drained: Duration,
        history: History,
        violations: Vec<Violation>,
    ) -> Self {
        let mut findings = history::check(&history);
        findings.violations.extend(violations);
        Self {
            database,
            name,
            torments: torments.to_vec(),
            drained,
            history,
            findings,
        }
    }
}

const CHECKERS: [(&str, &str); 8] = [
    ("lost", "lost"),
    ("rolled back", "sent after rollback"),
    ("duplicates", "unexplained duplicates"),
    ("order", "out of order"),
    ("attempts", "attempts that do not add up"),
    ("endings", "not one end, one id, one payload"),
    ("recovery", "not taken over after a kill"),
    ("processes", "processes that ended by themselves or not at all"),
];
const MOST_TOLD: usize = 20;

impl Report {
    pub(super) const fn new(seed: u64) -> Self {
        Self {
            seed,
            databases: BTreeMap::new(),
            violations: Vec::new(),
            kept: None,
        }
    }

    /// Whether nothing was found that must not be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    pub(super) fn add(&mut self, ended: &Ended) {
        let history = &ended.history;
        let figures = self.databases.entry(ended.database.as_str()).or_default();
        for torment in &ended.torments {
            *figures.torments.entry(torment.as_str()).or_default() += 1;
        }
        let committed = history
            .messages
            .values()
            .filter(|message| message.committed)
            .count();
        figures.committed += committed;
        figures.rolled_back += history.messages.len() - committed;
        figures.arrivals += history.arrivals.len();
        for row in &history.rows {
            match (row.status.as_str(), &row.reason) {
                ("sent", _) => figures.sent += 1,
                (_, Some(reason)) => *figures.dead.entry(reason.clone()).or_default() += 1,
                _ => {}
            }
        }
        for (cause, count) in &ended.findings.duplicates {
            let cause = cause.map_or("lost answer", DisturbanceKind::as_str);
            *figures.duplicates.entry(cause).or_default() += count;
        }
        let stalls = history
            .disturbances
            .iter()
            .filter(|each| each.kind == DisturbanceKind::Stall);
        figures.stalls += stalls.count();
        figures.recoveries.extend(history::recoveries(history));
        figures.recoveries.sort_unstable();
        figures.drained_ms = figures.drained_ms.max(ended.drained.as_millis());
        for violation in &ended.findings.violations {
            *figures.violations.entry(violation.checker).or_default() += 1;
            self.violations.push(Told {
                arena: ended.name.clone(),
                what: violation.to_string(),
                story: stories(history, &violation.tickets),
            });
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<50}", format!("seed {}", self.seed))?;
        for name in self.databases.keys() {
            write!(f, "{name:>12}")?;
        }
        writeln!(f)?;
        let causes = DisturbanceKind::ALL.map(DisturbanceKind::as_str);
        for kind in Torment::ALL.map(Torment::as_str) {
            self.line(f, &format!("{kind}s"), |figures| count(&figures.torments, kind))?;
        }
        self.line(f, "messages committed", |figures| figures.committed.to_string())?;
        self.line(f, "messages rolled back", |figures| {
            figures.rolled_back.to_string()
        })?;
        self.line(f, "arrivals", |figures| figures.arrivals.to_string())?;
        self.line(f, "sent", |figures| figures.sent.to_string())?;
        self.line(f, "dead letters", |figures| {
            figures.dead.values().sum::<usize>().to_string()
        })?;
        for cause in std::iter::once("lost answer").chain(causes) {
            self.line(f, &format!("duplicates after a {cause}"), |figures| {
                count(&figures.duplicates, cause)
            })?;
        }
        self.line(f, "stalls of the machine", |figures| figures.stalls.to_string())?;
        let promised = u64::try_from(LEASE.as_micros()).unwrap_or(u64::MAX) + 1_000_000;
        self.line(f, "recovery after a kill, median", |figures| {
            millis(figures.recoveries.get(figures.recoveries.len() / 2))
        })?;
        self.line(f, "recovery after a kill, longest", |figures| {
            millis(figures.recoveries.last())
        })?;
        let promise = format!("recoveries over lease + 1 s ({} ms)", promised / 1000);
        self.line(f, &promise, |figures| {
            let over = figures
                .recoveries
                .iter()
                .filter(|&&recovery| recovery > promised)
                .count();
            format!("{over} of {}", figures.recoveries.len())
        })?;
        self.line(f, "everything at its end after", |figures| {
            format!("{} ms", figures.drained_ms)
        })?;
        for (checker, meaning) in CHECKERS {
            self.line(f, meaning, |figures| count(&figures.violations, checker))?;
        }
        self.tell(f)
    }
}

impl Report {
    fn line(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        figure: impl Fn(&Figures) -> String,
    ) -> fmt::Result {
        write!(f, "{what:<50}")?;
        for figures in self.databases.values() {
            write!(f, "{:>12}", figure(figures))?;
        }
        writeln!(f)
    }

    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for told in self.violations.iter().take(MOST_TOLD) {
            writeln!(f, "\n{}: {}", told.arena, told.what)?;
            for line in &told.story {
                writeln!(f, "    {line}")?;
            }
        }
        if self.violations.len() > MOST_TOLD {
            writeln!(
                f,
                "\nand {} more; --json tells all",
                self.violations.len() - MOST_TOLD
            )?;
        }
        match &self.kept {
            Some(kept) => writeln!(f, "\ndatabases and logs are left in {}", kept.display()),
            None => Ok(()),
        }
    }
}

fn stories(history: &History, tickets: &[Ticket]) -> Vec<String> {
    let mut lines = Vec::new();
    for &ticket in tickets {
        lines.push(format!("message {ticket}"));
        lines.extend(history.story(ticket));
    }
    lines
}

fn count(counts: &BTreeMap<&'static str, usize>, of: &str) -> String {
    counts.get(of).copied().unwrap_or(0).to_string()
}

fn millis(micros: Option<&Micros>) -> String {
    micros.map_or_else(|| "-".to_owned(), |micros| format!("{} ms", micros / 1000))
}

/// Says on stderr how far it is.
pub(crate) fn progress(what: &str) {
    // Whoever closed it does not want to know.
    let _ = writeln!(std::io::stderr(), "{what}");
}

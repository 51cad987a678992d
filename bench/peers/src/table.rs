//! The findings as an aligned table for a terminal, as Markdown and as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::finding::{Finding, Verdict};
use crate::laws::Law;
use crate::versions::locked;

/// A crate with what each law found.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) package: &'static str,
    pub(crate) as_documented: Option<&'static str>,
    pub(crate) settings: &'static str,
    pub(crate) findings: Vec<(Law, Finding)>,
}

/// Everything one run found.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) laws: Vec<Law>,
    pub(crate) rows: Vec<Row>,
    /// Nanoseconds of the bare await and of the hand-written jitter, where they were timed.
    pub(crate) baselines: Vec<(&'static str, f64)>,
}

#[derive(Serialize)]
struct RowJson<'a> {
    package: &'a str,
    version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_documented: Option<&'a str>,
    settings: &'a str,
    laws_kept: usize,
    laws_run: usize,
    findings: Map<String, Value>,
}

impl Row {
    fn label(&self) -> String {
        let version = locked(self.package).unwrap_or("?");
        match self.as_documented {
            None => format!("{} {version}", self.package),
            Some(note) => format!("  {note}"),
        }
    }

    /// Laws kept, of the laws that were run.
    pub(crate) fn score(&self) -> (usize, usize) {
        let judged = self.findings.iter().filter(|(law, _)| law.judges());
        let kept = judged
            .clone()
            .filter(|(_, finding)| finding.verdict == Verdict::Kept)
            .count();
        (kept, judged.count())
    }

    fn score_cell(&self) -> String {
        match self.score() {
            (_, 0) => String::new(),
            _ if self.as_documented.is_some() => String::new(),
            (kept, run) => format!("{kept} of {run}"),
        }
    }

    fn cells(&self) -> Vec<String> {
        let findings = self.findings.iter().map(|(_, finding)| finding.cell());
        [self.label()]
            .into_iter()
            .chain(findings)
            .chain([self.score_cell()])
            .collect()
    }
}

impl Table {
    fn headings(&self) -> Vec<String> {
        let titles = self.laws.iter().map(|law| law.title());
        ["crate"]
            .into_iter()
            .chain(titles)
            .chain(["laws kept"])
            .map(str::to_owned)
            .collect()
    }

    /// Columns padded to the widest cell.
    pub(crate) fn terminal(&self) -> String {
        let lines: Vec<_> = [self.headings()]
            .into_iter()
            .chain(self.rows.iter().map(Row::cells))
            .collect();
        let widths: Vec<_> = (0..lines[0].len())
            .map(|column| {
                lines
                    .iter()
                    .map(|line| line[column].chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for (number, line) in lines.iter().enumerate() {
            let padded = line
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"));
            let _ = writeln!(text, "{}", padded.collect::<Vec<_>>().join("  ").trim_end());
            if number == 0 {
                let rule = widths.iter().map(|width| "─".repeat(*width));
                let _ = writeln!(text, "{}", rule.collect::<Vec<_>>().join("  "));
            }
        }
        text + &self.legend()
    }

    pub(crate) fn markdown(&self) -> String {
        let headings = self.headings();
        let mut text = format!(
            "| {} |\n|{}\n",
            headings.join(" | "),
            "---|".repeat(headings.len())
        );
        for row in &self.rows {
            let _ = writeln!(text, "| {} |", row.cells().join(" | "));
        }
        text + &self.legend()
    }

    fn legend(&self) -> String {
        let mut text = String::from("\n✓ kept   ✗ broken   – no such feature   ″ as the row above\n\n");
        for law in &self.laws {
            let _ = writeln!(text, "{}: {}.", law.title(), law.meaning());
        }
        for (name, nanoseconds) in &self.baselines {
            let _ = writeln!(text, "{name}: {nanoseconds:.2} ns.");
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        let laws: Vec<_> = self
            .laws
            .iter()
            .map(|law| json!({ "name": law.name(), "title": law.title(), "meaning": law.meaning() }))
            .collect();
        let baselines: Map<_, _> = self
            .baselines
            .iter()
            .map(|(name, figure)| ((*name).to_owned(), json!(figure)))
            .collect();
        json!({ "laws": laws, "peers": self.rows.iter().map(row_json).collect::<Vec<_>>(), "baselines_ns": baselines })
    }
}

fn row_json(row: &Row) -> Value {
    let findings = row
        .findings
        .iter()
        .map(|(law, finding)| (law.name().to_owned(), json!(finding)));
    let (laws_kept, laws_run) = row.score();
    json!(RowJson {
        package: row.package,
        version: locked(row.package),
        as_documented: row.as_documented,
        settings: row.settings,
        laws_kept,
        laws_run,
        findings: findings.collect(),
    })
}

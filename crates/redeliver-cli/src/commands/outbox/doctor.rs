//! `redeliver doctor`: is the outbox well?

use clap::Args;
use redeliver_outbox::desk::{Finding, Grade, StatusReport};

use super::{
    database::{DatabaseFlags, Outbox},
    destination::refused,
    finding,
    settings::{BUILT_IN, Settings},
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
};

/// Look for trouble: the database's version and settings, its clock, shards without owner, messages that nobody will take
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver doctor\n  redeliver doctor --json || alert"))]
pub(crate) struct DoctorArgs {
    /// One JSON object a line for each finding
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let outbox = args.database.open().await?;
    let mut findings = vec![configuration(&outbox.settings)];
    let looked = look(&outbox, &mut findings).await;
    looked.map_err(|error| outbox.named(error))?;
    for finding in &findings {
        match args.json {
            true => output::json(&finding::FindingForm::of(finding)),
            false => output::line(&words(finding)),
        }
    }
    let worst = findings.iter().map(|finding| finding.grade).max();
    Ok(match worst {
        Some(Grade::Problem) => Exit::Problems,
        _ => Exit::Done,
    })
}

async fn look(outbox: &Outbox, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    findings.extend(outbox.desk().examine().await?);
    let report = outbox.desk().status().await?;
    findings.extend(unknown_destinations(&outbox.settings, &report));
    findings.extend(events_without_routes(&outbox.settings, &report));
    findings.extend(refused_verdicts(&report));
    Ok(())
}

/// What the relays cannot write, because the database refuses it.
fn refused_verdicts(report: &StatusReport) -> Vec<Finding> {
    let live = report.live();
    let refused = live
        .iter()
        .filter_map(|(name, figures)| refused(name, Some(figures), report.now));
    let next =
        "remove the constraint or trigger of yours that refuses it; the relay tries again every minute";
    refused
        .map(|what| Finding::problem("verdicts", what, next))
        .collect()
}

pub(super) fn configuration(settings: &Settings) -> Finding {
    let names: Vec<&str> = settings.routes.iter().map(|(name, _)| name).collect();
    let (grade, what, next) = match (&settings.file, settings.only_built_in) {
        (None, _) => (
            Grade::Advice,
            format!("there is no configuration, and so no destination but {BUILT_IN}"),
            "write a redeliver.toml with a table [destinations.NAME] for each",
        ),
        (Some(file), true) => (
            Grade::Advice,
            format!(
                "{} names no destination, and so there is none but {BUILT_IN}",
                file.display()
            ),
            "add a table [destinations.NAME] for each",
        ),
        (Some(file), false) => (
            Grade::Good,
            format!("{} names {}", file.display(), names.join(", ")),
            "",
        ),
    };
    Finding::new(grade, "configuration", what, next)
}

/// Live messages to destinations that the configuration does not have: a relay with it would quarantine them.
fn unknown_destinations(settings: &Settings, report: &StatusReport) -> Vec<Finding> {
    let unknown = report.destinations.iter().filter_map(|(name, figures)| {
        let live = figures.due_now + figures.waiting + figures.put_away + figures.parked;
        (live > 0 && settings.routes.get(name).is_none()).then(|| {
            let name = readable::line(name, 80);
            Finding::problem(
                "destinations",
                format!("{live} live messages are to {name:?}, which the configuration does not have"),
                "add it before `redeliver serve` quarantines them as unknown_destination",
            )
        })
    });
    unknown.collect()
}

/// Live events, and a configuration with no route at all: a relay with it would quarantine them.
fn events_without_routes(settings: &Settings, report: &StatusReport) -> Option<Finding> {
    let live = report.events.due_now + report.events.waiting + report.events.put_away;
    (live > 0 && settings.routes.topics().next().is_none()).then(|| {
        Finding::problem(
            "routes",
            format!(
                "{live} live events name a topic and no destination, and the configuration has no routes"
            ),
            "add a table [routes] before `redeliver serve` quarantines them as no_route",
        )
    })
}

fn words(finding: &Finding) -> String {
    let next = if finding.next.is_empty() {
        String::new()
    } else {
        format!("; {}", finding.next)
    };
    format!(
        "{:<8} {:<14} {}{next}",
        finding::grade(finding.grade),
        finding.topic,
        readable::line(&finding.what, usize::MAX)
    )
}

use std::fmt::Write as _;

use clap::Args;
use redeliver_outbox::{Timestamp, desk::WorkerRecord};
use serde::Serialize;

use super::{
    super::database::{DatabaseFlags, Outbox},
    form::{DestinationForm, LiveForm},
    list::pace,
    overview::{self, Overview},
    words::met,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
    table::table,
};

/// Show one destination: how it is and why, what waits for it, and how each worker finds it
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver destination show billing\n  redeliver destination show billing --json"))]
pub(super) struct ShowArgs {
    /// Its name
    name: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

/// A destination and what each worker says of it.
#[derive(Debug, Serialize)]
struct ShowForm<'a> {
    #[serde(flatten)]
    destination: DestinationForm<'a>,
    workers: Vec<WorkerForm<'a>>,
}

#[derive(Debug, Serialize)]
struct WorkerForm<'a> {
    worker: &'a str,
    #[serde(flatten)]
    live: LiveForm<'a>,
}

pub(super) async fn run(args: &ShowArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let report = outbox.desk().status().await?;
    let all = overview::all(&outbox.settings.routes, &report);
    let Some(destination) = all.iter().find(|destination| destination.name == args.name) else {
        return Err(overview::unknown(
            outbox,
            &args.name,
            "`redeliver destination list` shows which there are",
        ));
    };
    let workers = report.workers.iter().filter(|worker| worker.alive);
    if args.json {
        let workers = workers.filter_map(|worker| {
            let live = LiveForm::of(worker.destinations.get(&args.name)?);
            let worker = &worker.id;
            Some(WorkerForm { worker, live })
        });
        output::json(&ShowForm {
            destination: DestinationForm::of(destination),
            workers: workers.collect(),
        });
    } else {
        output::line(&words(destination, workers, report.now));
    }
    Ok(Exit::Done)
}

fn words<'a>(
    destination: &Overview,
    workers: impl Iterator<Item = &'a WorkerRecord>,
    now: Timestamp,
) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<13} {value}");
    };
    let name = readable::line(&destination.name, 200);
    line("destination", &name);
    match (destination.trouble(now), &destination.live) {
        (Some(trouble), _) => line("state", &trouble),
        (None, Some(live)) => line("state", live.state.as_str()),
        (None, None) => line("state", "not known: no relay is running that has it"),
    }
    if !destination.configured {
        line("configured", "not in this configuration");
    }
    let figures = &destination.figures;
    line(
        "messages",
        &format!(
            "{} due now, {} waiting, {} put away, {} parked, {} sent, {} dead",
            figures.due_now, figures.waiting, figures.put_away, figures.parked, figures.sent, figures.dead
        ),
    );
    if let Some(lag) = figures.oldest_lag {
        line("oldest lag", &readable::duration(lag));
    }
    if let Some(failures) = destination.live.as_ref().and_then(|live| met(&live.failures)) {
        line("failures", &format!("{failures}, in the last minute"));
    }
    if let Some(workers) = by_worker(workers, &destination.name) {
        let _ = write!(text, "\n{workers}\n");
    }
    text.trim_end().to_owned()
}

fn by_worker<'a>(workers: impl Iterator<Item = &'a WorkerRecord>, name: &str) -> Option<String> {
    let header = [
        "worker",
        "state",
        "in flight",
        "limit",
        "rate/s",
        "sent/s",
        "failed/s",
        "p50",
        "p99",
        "held",
    ];
    let mut table = table(header, 2);
    let mut some = false;
    for worker in workers {
        let Some(live) = worker.destinations.get(name) else {
            continue;
        };
        let [in_flight, limit, sent, failed, p50, p99] = pace(Some(live));
        table.add_row([
            worker.id.clone(),
            live.state.to_string(),
            in_flight,
            limit,
            live.rate.map_or("any".to_owned(), readable::number),
            sent,
            failed,
            p50,
            p99,
            live.held.to_string(),
        ]);
        some = true;
    }
    some.then(|| table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::{HoldCause, live::Live, live::LiveState};

    use super::{
        super::list::tests::{NOW, found, held},
        *,
    };

    #[test]
    fn a_destination_is_told_in_the_order_of_looking() {
        let worker = |id: &str, live: Live| WorkerRecord {
            id: id.to_owned(),
            started_at: NOW,
            seen_at: NOW,
            alive: true,
            shards: 1,
            in_flight: 0,
            destinations: live,
        };
        let open = found("billing", LiveState::Open);
        let live = Live::from([("billing".to_owned(), open.live.clone().unwrap_or_default())]);
        let workers = [
            worker("4711-0badcafe", live),
            worker("4712-0badcafe", Live::new()),
        ];
        let mut paused = held("mail", HoldCause::Hand);
        paused.configured = false;
        insta::assert_snapshot!(format!(
            "{}\n\n---\n\n{}",
            words(&open, workers.iter(), NOW),
            words(&paused, [].iter(), NOW)
        ));
    }
}

use clap::Args;
use redeliver_outbox::{Timestamp, live::LiveFigures};

use super::{
    super::database::{DatabaseFlags, Outbox},
    form::DestinationForm,
    overview::{self, Overview},
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
    table::table,
};

/// List the destinations: how each one is, how fast, and what waits for it
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver destination list\n  redeliver destination list --json"))]
pub(super) struct ListArgs {
    /// One JSON object a line for each destination
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ListArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let report = outbox.desk().status().await?;
    let destinations = overview::all(&outbox.settings.routes, &report);
    if args.json {
        for destination in &destinations {
            output::json(&DestinationForm::of(destination));
        }
    } else {
        output::line(&words(&destinations, report.now));
    }
    Ok(Exit::Done)
}

fn words(destinations: &[Overview], now: Timestamp) -> String {
    let header = [
        "destination",
        "state",
        "in flight",
        "limit",
        "sent/s",
        "failed/s",
        "p50",
        "p99",
        "due now",
        "waiting",
        "put away",
        "dead",
    ];
    let mut table = table(header, 2);
    for destination in destinations {
        let figures = &destination.figures;
        let [in_flight, limit, sent, failed, p50, p99] = pace(destination.live.as_ref());
        table.add_row([
            readable::line(&destination.name, 40),
            destination.state().to_owned(),
            in_flight,
            limit,
            sent,
            failed,
            p50,
            p99,
            figures.due_now.to_string(),
            figures.waiting.to_string(),
            figures.put_away.to_string(),
            figures.dead.to_string(),
        ]);
    }
    let mut text = table.trim_fmt();
    for destination in destinations {
        if let Some(trouble) = destination.trouble(now) {
            text.push_str(&format!(
                "\n\n{} is {trouble}",
                readable::line(&destination.name, 40)
            ));
        }
    }
    if destinations.iter().all(|destination| destination.live.is_none()) {
        text.push_str("\n\nno relay is running that could tell how they are: start `redeliver serve`");
    }
    text
}

/// In flight, limit, sent and failed a second, and two latencies.
pub(super) fn pace(live: Option<&LiveFigures>) -> [String; 6] {
    let Some(live) = live else {
        return std::array::from_fn(|_| "-".to_owned());
    };
    let took =
        |millis: Option<f64>| millis.map_or("-".to_owned(), |millis| readable::seconds(millis / 1_000.0));
    [
        live.in_flight.to_string(),
        format!("{} of {}", live.limit, live.ceiling),
        readable::number(live.delivered_per_second),
        readable::number(live.failed_per_second),
        took(live.latency_p50_ms),
        took(live.latency_p99_ms),
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use redeliver_outbox::{
        Hold, HoldCause,
        desk::Figures,
        live::{Failures, LiveState},
    };

    use super::*;

    pub(in super::super) const NOW: Timestamp = Timestamp::from_millis(100_000);

    pub(in super::super) fn held(name: &str, cause: HoldCause) -> Overview {
        let (who, detail) = match cause {
            HoldCause::Hand => ("ana", "the receiver is being moved"),
            HoldCause::Surge => (
                "4711-0badcafe",
                "40 of the last 50 messages were rejected in the same way, the last one with (permanent) 401 Unauthorized",
            ),
            HoldCause::Gone => ("4711-0badcafe", "410 Gone"),
        };
        Overview {
            name: name.to_owned(),
            configured: true,
            hold: Some(Hold {
                destination: name.to_owned(),
                kind: cause.kind(),
                cause,
                detail: detail.to_owned(),
                who: who.to_owned(),
                since: Timestamp::from_millis(40_000),
            }),
            live: None,
            figures: Figures::default(),
        }
    }

    pub(in super::super) fn found(name: &str, state: LiveState) -> Overview {
        let unwell = state > LiveState::Ramping;
        Overview {
            name: name.to_owned(),
            configured: true,
            hold: None,
            live: Some(LiveFigures {
                state,
                in_flight: 3,
                limit: 8,
                ceiling: 32,
                delivered_per_second: 12.25,
                failed_per_second: 0.5,
                failures: Failures {
                    server_error: if unwell { 27 } else { 0 },
                    timeout: if unwell { 3 } else { 0 },
                    ..Failures::default()
                },
                latency_p50_ms: Some(12.5),
                latency_p99_ms: Some(1_250.0),
                until: unwell.then(|| Timestamp::from_millis(112_000)),
                since: unwell.then(|| Timestamp::from_millis(40_000)),
                detail: if unwell { "503 Service Unavailable" } else { "" }.to_owned(),
                ..LiveFigures::default()
            }),
            figures: Figures {
                due_now: 3,
                waiting: 12,
                put_away: 140,
                dead: 4,
                ..Figures::default()
            },
        }
    }

    #[test]
    fn every_state_is_told_with_its_next_step() {
        let destinations = [
            found("audit", LiveState::Well),
            found("billing", LiveState::Open),
            found("crm", LiveState::Probing),
            found("fraud", LiveState::Resting),
            held("mail", HoldCause::Hand),
            held("orders", HoldCause::Surge),
            held("sms", HoldCause::Gone),
        ];
        insta::assert_snapshot!(words(&destinations, NOW));
    }
}

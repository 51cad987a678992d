use clap::Args;
use redeliver_outbox::{
    DeadReason, Timestamp,
    desk::{Standing, StandingLane},
};

use super::{
    super::{
        database::{DatabaseFlags, Outbox},
        filter_flags::at_least_one,
        when,
    },
    form::LaneForm,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
    table::table,
};

/// The lanes that stand or wait, those that need somebody first
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver lane list\n  redeliver lane list --limit 5 --json"))]
pub(super) struct ListArgs {
    /// At most this many of those that stand, and of those that wait
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one, allow_negative_numbers = true)]
    limit: usize,
    /// One JSON object a line for each lane
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ListArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let lanes = outbox.desk().lanes(args.limit).await?;
    if args.json {
        for lane in &lanes {
            output::json(&LaneForm::of(lane));
        }
    } else if lanes.is_empty() {
        output::line("no lane stands: every head goes on");
    } else {
        output::line(&words(&lanes, Timestamp::wall()));
    }
    Ok(Exit::Done)
}

fn words(lanes: &[StandingLane], now: Timestamp) -> String {
    let header = ["destination", "key", "state", "since", "why", "head", "depth"];
    let mut table = table(header, 5);
    for lane in lanes {
        let (state, since, why) = standing(lane, now);
        table.add_row([
            readable::line(&lane.lane.destination, 40),
            readable::line(&lane.lane.key, 40),
            state.to_owned(),
            when::relative(since, now),
            why,
            lane.head.map_or(String::new(), |head| head.number().to_string()),
            format!(
                "{}{}",
                lane.depth.messages,
                if lane.depth.or_more { "+" } else { "" }
            ),
        ]);
    }
    table.trim_fmt()
}

fn standing(lane: &StandingLane, now: Timestamp) -> (&'static str, Timestamp, String) {
    match &lane.standing {
        Standing::Held { who, why, since } => {
            let why = readable::line(&format!("{who}: {why}"), 60);
            ("held", *since, why.trim_end_matches([':', ' ']).to_owned())
        }
        Standing::Parked { reason, since } => {
            let why = reason.map_or("being tried again", DeadReason::as_str);
            ("parked", *since, why.to_owned())
        }
        Standing::Blocked {
            next_attempt_at,
            error,
            oldest,
            ..
        } => {
            let next = when::relative(*next_attempt_at, now);
            let why = format!("{}; next attempt {next}", readable::line(error, 60));
            ("blocked", *oldest, why)
        }
    }
}

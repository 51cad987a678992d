use clap::Args;
use redeliver_outbox::Timestamp;
use serde_json::json;

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        when::both,
    },
    LaneName,
    form::LaneHoldForm,
    named,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
};

/// Park a lane: nothing of it goes out until it is resumed, and nothing is lost
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver lane park billing customer-7 --why 'their shop is being moved'\n  \
    redeliver lane park billing customer-7 --as ana --json"))]
pub(super) struct ParkArgs {
    #[command(flatten)]
    lane: LaneName,
    /// Why, for whoever finds it parked, and for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ParkArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let lane = args.lane.id();
    let parked = outbox.desk().park_lane(&lane, &args.who.act(&args.why)).await?;
    let hold = &parked.hold;
    if args.json {
        output::json(&json!({
            "destination": lane.destination,
            "key": lane.key,
            "new": parked.new,
            "hold": LaneHoldForm::of(hold),
        }));
    } else if parked.new {
        output::line(&format!(
            "the lane {} is parked: what is on its way is finished, nothing else goes out from the relays' next read on, and \
             `redeliver lane resume` lets it go on",
            named(&lane)
        ));
    } else {
        output::line(&format!(
            "nothing has changed: {} parked the lane {} {}",
            readable::line(&hold.who, 80),
            named(&lane),
            both(hold.since, Timestamp::wall())
        ));
    }
    Ok(Exit::Done)
}

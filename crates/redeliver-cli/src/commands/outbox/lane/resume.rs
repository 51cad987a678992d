use clap::Args;
use redeliver_outbox::Timestamp;
use serde_json::json;

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        when::relative,
    },
    LaneName,
    form::LaneHoldForm,
    named,
};
use crate::{
    exit::{Exit, outbox_help},
    output,
};

/// Let a lane go on that stands still, parked by hand or behind a dead letter
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver lane resume billing customer-7\n  \
    redeliver lane resume billing customer-7 --why 'the order is of no use any more'"))]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    lane: LaneName,
    /// Why, for the audit
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

pub(super) async fn run(args: &ResumeArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let lane = args.lane.id();
    let act = args.who.act(&args.why);
    let ended = outbox.desk().resume_lane(&lane, None, &act).await?;
    match &ended {
        _ if args.json => output::json(&json!({
            "destination": lane.destination,
            "key": lane.key,
            "resumed": ended.is_some(),
            "hold": ended.as_ref().and_then(|ended| ended.hold.as_ref()).map(LaneHoldForm::of),
            "without": ended.as_ref().and_then(|ended| ended.without).map(|id| id.to_string()),
        })),
        Some(ended) => {
            let stood = relative(ended.since, Timestamp::wall());
            let without = ended.without.map_or(String::new(), |id| {
                format!(", without {id}, which stays a dead letter")
            });
            output::line(&format!(
                "the lane {} goes on from the relays' next read on{without}; it stood still since {} ({stood})",
                named(&lane),
                ended.since
            ));
        }
        None => output::line(&format!(
            "nothing has changed: the lane {} did not stand still",
            named(&lane)
        )),
    }
    Ok(Exit::Done)
}

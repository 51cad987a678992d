use clap::Args;
use redeliver_outbox::Timestamp;
use serde_json::json;

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        when::relative,
    },
    form::HoldForm,
    overview,
    pause::is_known,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
};

/// Let a destination go on that is paused or disabled
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver destination resume billing\n  \
    redeliver destination resume billing --why 'the new key is in place'"))]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    pub(super) goes_on: GoesOn,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

/// Which destination goes on, and why.
#[derive(Args, Clone, Debug)]
pub(super) struct GoesOn {
    /// Its name
    name: String,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: WhoFlag,
}

pub(super) async fn run(args: &ResumeArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    go_on(&args.goes_on, outbox).await
}

pub(super) async fn go_on(args: &GoesOn, outbox: &Outbox) -> anyhow::Result<Exit> {
    let ended = outbox
        .desk()
        .resume(&args.name, None, &args.who.act(&args.why))
        .await?;
    if ended.is_none() && !is_known(outbox, &args.name).await? {
        let next = "`redeliver destination list` shows which there are";
        return Err(overview::unknown(outbox, &args.name, next));
    }
    let name = readable::line(&args.name, 80);
    match &ended {
        _ if args.json => output::json(&json!({
            "destination": args.name,
            "resumed": ended.is_some(),
            "hold": ended.as_ref().map(HoldForm::of),
        })),
        Some(hold) => output::line(&format!(
            "{name} goes on from the relays' next beat on, slowly at first; it was {} since {} ({})",
            hold.kind,
            hold.since,
            relative(hold.since, Timestamp::wall())
        )),
        None => output::line(&format!("nothing has changed: {name} was not held")),
    }
    Ok(Exit::Done)
}

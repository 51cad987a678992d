use clap::Args;
use redeliver_outbox::{Timestamp, desk::Filter};
use serde_json::json;

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
    },
    form::HoldForm,
    overview, trouble_of,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
};

/// Hold a destination: nothing is sent there until it is resumed, and nothing is lost
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver destination pause billing --why 'the receiver is being moved'\n  \
    redeliver destination pause billing --as ana --json"))]
pub(super) struct PauseArgs {
    /// Its name
    name: String,
    /// Why, for whoever finds it paused, and for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// Also if neither the configuration nor any message names it
    #[arg(long)]
    unknown: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &PauseArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    if !args.unknown && !is_known(outbox, &args.name).await? {
        let next = "add --unknown to pause one of this name nevertheless";
        return Err(overview::unknown(outbox, &args.name, next));
    }
    let held = outbox.desk().pause(&args.name, &args.who.act(&args.why)).await?;
    if args.json {
        output::json(&json!({
            "destination": args.name,
            "new": held.new,
            "hold": HoldForm::of(&held.hold),
        }));
        return Ok(Exit::Done);
    }
    let name = readable::line(&args.name, 80);
    if held.new {
        output::line(&format!(
            "{name} is paused: relays send nothing there from their next beat on, what falls due is put away, and \
             `redeliver destination resume {name}` lets it go on"
        ));
    } else {
        let trouble = trouble_of(Some(&held.hold), None, Timestamp::wall()).unwrap_or_default();
        output::line(&format!("nothing has changed: {name} is {trouble}"));
    }
    Ok(Exit::Done)
}

/// Whether the configuration has it, a message names it, or it is held.
pub(super) async fn is_known(outbox: &Outbox, name: &str) -> anyhow::Result<bool> {
    if outbox.settings.routes.get(name).is_some() {
        return Ok(true);
    }
    let holds = outbox.desk().holds().await?;
    if holds.iter().any(|hold| hold.destination == name) {
        return Ok(true);
    }
    let filter = Filter {
        destination: Some(name.to_owned()),
        ..Filter::default()
    };
    Ok(outbox.desk().count(&filter).await? > 0)
}

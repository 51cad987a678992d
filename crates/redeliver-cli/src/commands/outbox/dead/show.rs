use clap::Args;
use redeliver_outbox::{
    Timestamp,
    desk::{Detail, MessageRef},
    state::Status,
};

use super::super::{
    database::{DatabaseFlags, Outbox},
    form::DetailForm,
    show::{find, words},
};
use crate::{
    exit::{Exit, NotFound, outbox_help},
    output,
};

/// Show a dead letter: its reason, its last error, its attempts, its payload, its ids
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead show 42\n  redeliver dead show 42 --json"))]
pub(super) struct ShowArgs {
    /// Its id, or its number
    id: MessageRef,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ShowArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let detail = find_dead(outbox, args.id).await?;
    match args.json {
        true => output::json(&DetailForm::of(&detail)),
        false => output::line(&words(&detail, None, Timestamp::wall())),
    }
    Ok(Exit::Done)
}

/// The dead letter, or the sentence that the message is none.
pub(super) async fn find_dead(outbox: &Outbox, message: MessageRef) -> anyhow::Result<Detail> {
    let detail = find(outbox, message).await?;
    let record = &detail.record;
    if matches!(record.status, Status::DeadLettered | Status::Discarded) {
        return Ok(detail);
    }
    let (id, status) = (record.id, record.status);
    Err(NotFound(format!(
        "message {id} is no dead letter but {status}; `redeliver why {id}` says more"
    ))
    .into())
}

use clap::Args;

use super::{
    super::database::{DatabaseFlags, Outbox},
    resume::{GoesOn, go_on},
};
use crate::exit::{Exit, outbox_help};

/// Let a destination go on that said that it is gone for good; the same as resume
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver destination enable billing\n  \
    redeliver destination enable billing --why 'it is at its new address'"))]
pub(super) struct EnableArgs {
    #[command(flatten)]
    goes_on: GoesOn,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &EnableArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    go_on(&args.goes_on, outbox).await
}

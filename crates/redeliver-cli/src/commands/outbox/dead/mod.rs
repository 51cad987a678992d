//! `redeliver dead`: the dead letters, and what can be done about them.

mod discard;
mod edit;
mod export;
mod forgotten;
mod import;
pub(crate) mod issues;
mod list;
mod many;
mod moved;
mod patch;
mod patched;
mod redrive;
mod show;

use clap::{Args, Subcommand};

pub(crate) use self::{
    edit::check as check_edit,
    forgotten::forgotten_warning,
    import::letter,
    moved::check_moved,
    patched::{PatchPreviewForm, PatchedForm, note as patch_note},
};
use super::database::DatabaseFlags;
use crate::exit::Exit;

/// Dead letters: look, mend, put back, give up, take elsewhere
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  redeliver dead issues\n  redeliver dead list --to billing\n  redeliver dead show 42\n  \
    redeliver dead edit 42 --payload @mended.json --why 'the amount was missing'\n  \
    redeliver dead patch --to billing --patch '{\"total\":null}' --preview\n  redeliver dead redrive 42\n  \
    redeliver dead redrive --to billing --reason attempts_exhausted --yes\n  redeliver dead discard 42 --reason 'a test order'"
)]
pub(crate) struct DeadArgs {
    #[command(subcommand)]
    command: DeadCommand,
}

#[derive(Debug, Subcommand)]
enum DeadCommand {
    List(Box<list::ListArgs>),
    Issues(issues::IssuesArgs),
    Show(show::ShowArgs),
    Edit(Box<edit::EditArgs>),
    Patch(Box<patch::PatchArgs>),
    Redrive(Box<redrive::RedriveArgs>),
    Discard(Box<discard::DiscardArgs>),
    Export(Box<export::ExportArgs>),
    Import(import::ImportArgs),
}

impl DeadCommand {
    const fn database(&self) -> &DatabaseFlags {
        match self {
            Self::List(args) => &args.database,
            Self::Issues(args) => &args.database,
            Self::Show(args) => &args.database,
            Self::Edit(args) => &args.database,
            Self::Patch(args) => &args.database,
            Self::Redrive(args) => &args.database,
            Self::Discard(args) => &args.database,
            Self::Export(args) => &args.database,
            Self::Import(args) => &args.database,
        }
    }
}

pub(super) async fn run(args: DeadArgs) -> anyhow::Result<Exit> {
    let database = args.command.database();
    let outbox = match &args.command {
        // What came from elsewhere may be the first that is here.
        DeadCommand::Import(args) => {
            import::look(args)?;
            database.open_or_make().await?
        }
        _ => database.open().await?,
    };
    let done = match &args.command {
        DeadCommand::List(args) => list::run(args, &outbox).await,
        DeadCommand::Issues(args) => issues::run(args, &outbox).await,
        DeadCommand::Show(args) => show::run(args, &outbox).await,
        DeadCommand::Edit(args) => edit::run(args, &outbox).await,
        DeadCommand::Patch(args) => patch::run(args, &outbox).await,
        DeadCommand::Redrive(args) => redrive::run(args, &outbox).await,
        DeadCommand::Discard(args) => discard::run(args, &outbox).await,
        DeadCommand::Export(args) => export::run(args, &outbox).await,
        DeadCommand::Import(args) => import::run(args, &outbox).await,
    };
    done.map_err(|error| outbox.named(error))
}

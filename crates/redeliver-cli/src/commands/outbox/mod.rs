//! The outbox: filling it, emptying it, looking into it, mending what is in it.

mod act_flags;
mod audit;
mod check;
mod config;
mod database;
pub(crate) mod dead;
pub(crate) mod destination;
mod doctor;
pub(crate) mod filter_flags;
pub(crate) mod finding;
pub(crate) mod form;
mod import;
pub(crate) mod job;
pub(crate) mod lane;
mod list;
mod migrate;
pub(crate) mod payload;
mod replay;
mod send;
pub(super) mod serve;
mod settings;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod when;
pub(crate) mod why;

use clap::Subcommand;

use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    Serve(serve::ServeArgs),
    Send(Box<send::SendArgs>),
    Status(status::StatusArgs),
    List(Box<list::ListArgs>),
    Show(show::ShowArgs),
    Why(why::WhyArgs),
    Dead(dead::DeadArgs),
    Destination(destination::DestinationArgs),
    Lane(lane::LaneArgs),
    Job(job::JobArgs),
    Replay(replay::ReplayArgs),
    Import(Box<import::ImportArgs>),
    Migrate(migrate::MigrateArgs),
    Check(check::CheckArgs),
    Config(config::ConfigArgs),
    Doctor(doctor::DoctorArgs),
    Audit(audit::AuditArgs),
}

pub(crate) async fn run(command: OutboxCommand) -> anyhow::Result<Exit> {
    match command {
        OutboxCommand::Serve(args) => serve::run(args).await,
        OutboxCommand::Send(args) => {
            let given = send::given(&args)?;
            let outbox = args.database.open_or_make().await?;
            send::run(&args, given, &outbox)
                .await
                .map_err(|error| outbox.named(error))
        }
        OutboxCommand::Status(args) => {
            let outbox = args.database.open().await?;
            status::run(&args, &outbox)
                .await
                .map_err(|error| outbox.named(error))
        }
        OutboxCommand::List(args) => {
            let outbox = args.database.open().await?;
            list::run(&args, &outbox)
                .await
                .map_err(|error| outbox.named(error))
        }
        OutboxCommand::Show(args) => {
            let outbox = args.database.open().await?;
            show::run(&args, &outbox)
                .await
                .map_err(|error| outbox.named(error))
        }
        OutboxCommand::Why(args) => {
            let outbox = args.database.open().await?;
            why::run(&args, &outbox)
                .await
                .map_err(|error| outbox.named(error))
        }
        OutboxCommand::Dead(args) => dead::run(args).await,
        OutboxCommand::Destination(args) => destination::run(args).await,
        OutboxCommand::Lane(args) => lane::run(args).await,
        OutboxCommand::Job(args) => job::run(args).await,
        OutboxCommand::Replay(args) => {
            let outbox = args.database.open().await?;
            replay::run(&args, &outbox)
                .await
                .map_err(|error| outbox.named(error))
        }
        OutboxCommand::Import(args) => import::run(&args).await,
        OutboxCommand::Migrate(args) => migrate::run(&args).await,
        OutboxCommand::Check(args) => check::run(&args).await,
        OutboxCommand::Config(args) => config::run(&args),
        OutboxCommand::Doctor(args) => doctor::run(&args).await,
        OutboxCommand::Audit(args) => {
            let outbox = args.database().open().await?;
            audit::run(&args, &outbox)
                .await
                .map_err(|error| outbox.named(error))
        }
    }
}

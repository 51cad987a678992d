//! `redeliver import`: rows of a foreign outbox table, each once.

mod before;
mod form;
mod going;
mod probe;
mod recorded;

use anyhow::Context as _;
use clap::Args;
use redeliver::address::shown;
use redeliver_outbox::{
    config::ImportSettings,
    import::{Import, LIKE, Trouble, like},
    limits,
    store::{StoreError, StoreErrorKind},
};

use self::going::Going;
pub(super) use self::probe::probe;
use super::{
    act_flags::WhoFlag,
    database::{DatabaseFlags, Outbox},
    settings::Settings,
};
use crate::{
    ending::Signals,
    exit::{BadInput, Exit, outbox_help},
    output, readable,
};

/// Take over the rows of an outbox table that you have already, each once
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver import --like debezium >> redeliver.toml\n  \
    redeliver import shop --dry-run\n  redeliver import shop --why 'moving to redeliver'\n  \
    redeliver import shop --follow\n\n\
    The table and what its columns are is in the configuration: [import.NAME]. Rows are read forward by the order column and put into the \
    outbox in batches, each under the de-duplication key import:NAME:VALUE: run again, or after it was ended in the middle, it inserts \
    nothing twice for the 7 days that such keys are remembered; after that it wants to know where to begin: --after or --from-the-beginning. A row that cannot be a message is told with \
    its order value, and the others go on; the exit code is then 1. Nothing in the foreign table is changed.\n\n\
    To switch over without a gap: run it with --follow, let the application write to redeliver's outbox instead, and end it with Ctrl-C \
    once nothing comes any more. Rows that are committed late, up to 5 minutes after others behind them, are found too."))]
pub(crate) struct ImportArgs {
    /// Which import: the NAME of [import.NAME] in the configuration
    #[arg(required_unless_present = "like")]
    name: Option<String>,
    /// Only say what would be inserted, and show the first message
    #[arg(long, conflicts_with = "follow")]
    dry_run: bool,
    /// Read at most so many rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Go on with what comes later, until it is told to end
    #[arg(long)]
    follow: bool,
    /// Begin behind the row with this order value
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    after: Option<String>,
    /// Begin with the first row, although rows were imported longer ago than they are known again
    #[arg(long, conflicts_with = "after")]
    from_the_beginning: bool,
    /// Stop before the first row that cannot be a message
    #[arg(long)]
    strict: bool,
    /// How many rows are read and inserted at a time, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = limits::IMPORT_BATCH as u64,
        value_parser = clap::value_parser!(u64).range(1..=limits::IMPORT_LARGEST_BATCH as u64))]
    batch: u64,
    /// Print the configuration for a table like this one, to start from
    #[arg(long, value_name = "TABLE", value_parser = LIKE.map(|(name, _)| name), conflicts_with = "name")]
    like: Option<String>,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object a line: each row that is refused, and the figures at the end
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    database: DatabaseFlags,
}

pub(super) async fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    if let Some(text) = args.like.as_deref().and_then(like) {
        output::text(text);
        return Ok(Exit::Done);
    }
    let settings = args.database.settings()?;
    let (name, chosen) = chosen(args, &settings)?;
    let address = chosen.database.as_ref().unwrap_or(&settings.database).clone();
    let signals = Signals::listen().context("cannot listen for signals")?;
    let import = prepared(args, name, chosen, &settings)
        .await
        .map_err(|error| named(error, &address))?;
    let act = args.who.act(&args.why);
    let outbox = match args.dry_run {
        true => None,
        false => Some(Outbox::open_or_make(settings).await?),
    };
    if let (Some(outbox), None, false) = (&outbox, &args.after, args.from_the_beginning) {
        before::check(name_of(args), outbox).await?;
    }
    let mut going = Going::new(args, name_of(args), import, outbox.as_ref(), &act, signals);
    let ended = going.on().await;
    output::progress_done();
    let recorded = going.record(true).await;
    if ended.is_ok() || going.has_read() {
        going.sum_up();
    }
    let exit = ended.map_err(|trouble| {
        if going.has_read() {
            output::note("what was inserted is there to stay: run it again, and nothing is inserted twice");
        }
        match (trouble, &outbox) {
            (Trouble::Outbox(error), Some(outbox)) => outbox.named(error.into()),
            (Trouble::Table(error) | Trouble::Outbox(error), _) => named(error.into(), &address),
        }
    })?;
    if let (Err(error), Some(outbox)) = (recorded, &outbox) {
        let error =
            anyhow::Error::new(error).context("everything was done, but the audit trail does not say so");
        return Err(outbox.named(error));
    }
    Ok(exit)
}

fn name_of(args: &ImportArgs) -> &str {
    args.name.as_deref().unwrap_or_default()
}

/// The import of the configuration that was named.
fn chosen<'a>(args: &ImportArgs, settings: &'a Settings) -> Result<(&'a str, &'a ImportSettings), BadInput> {
    let name = name_of(args);
    if let Some((name, import)) = settings.imports.get_key_value(name) {
        return Ok((name, import));
    }
    let shown = readable::line(name, 80);
    let known: Vec<&str> = settings.imports.keys().map(String::as_str).collect();
    Err(BadInput(match known.is_empty() {
        true => format!(
            "{shown}: the configuration has no table [import.{shown}]; `redeliver import --like {}` prints one to start from",
            LIKE[0].0
        ),
        false => format!(
            "{shown}: the configuration has no such import; it has {}",
            known.join(", ")
        ),
    }))
}

/// The import, ready to go.
async fn prepared(
    args: &ImportArgs,
    name: &str,
    chosen: &ImportSettings,
    settings: &Settings,
) -> anyhow::Result<Import> {
    let address = chosen.database.as_ref().unwrap_or(&settings.database);
    let mut import = Import::open(address, name, &chosen.mapping).await?;
    if import.first().await?.is_some_and(|first| first.is_random()) {
        let order = readable::line(&chosen.mapping.order, 80);
        let what = format!("import.{name}.order: the column {order} holds random uuids (version 4)");
        if args.follow {
            return Err(BadInput(format!(
                "{what}: what comes later may be anywhere, so there is nothing to follow; name a column that grows"
            ))
            .into());
        }
        output::note(&format!("{what}: the rows come in no particular order"));
    }
    if let Some(place) = &args.after {
        import = import.after(place)?;
    }
    if args.strict {
        import = import.strict();
    }
    if args.follow {
        import = import.followed();
    }
    if !settings.only_built_in {
        import = import.only_to(settings.routes.iter().map(|(name, _)| name.to_owned()));
    }
    Ok(import)
}

/// Trouble with the foreign database is told with its address, which is without its secrets.
fn named(error: anyhow::Error, address: &str) -> anyhow::Error {
    match error.downcast_ref::<StoreError>() {
        Some(trouble) if trouble.kind() != StoreErrorKind::BadInput => error.context(shown(address)),
        _ => error,
    }
}

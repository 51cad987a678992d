//! `redeliver migrate`: the outbox's tables.

use clap::Args;
use redeliver_outbox::desk::{Layout, Migration};
use serde_json::json;

use super::{
    act_flags::confirmed,
    database::{DatabaseFlags, Outbox},
    serve::show_reports,
};
use crate::{
    exit::{BadInput, Exit, outbox_help},
    output,
};

/// Make the outbox's tables, bring them to this program's version, or take them back; several processes may do it at once
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver migrate\n  redeliver migrate --print > outbox.sql\n  \
    redeliver migrate --database postgres://me@localhost/app --shards 128\n  redeliver migrate --down --to 1"))]
pub(crate) struct MigrateArgs {
    /// Print the statements instead of running them
    #[arg(long)]
    print: bool,
    /// Take steps back, as far as --to says
    #[arg(long)]
    down: bool,
    /// The version to go to [default: the newest, or with --down 0, which removes the tables and all that is in them]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    to: Option<u32>,
    /// How many shards, when the tables are made; another number than they were made with is refused [default: what suits the database, on SQLite 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    shards: Option<u16>,
    /// Do not ask before messages are lost
    #[arg(long, short)]
    yes: bool,
    /// One JSON object: the versions before and after, and the steps taken
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &MigrateArgs) -> anyhow::Result<Exit> {
    let mut settings = args.database.settings()?;
    if args.print && settings.is_sqlite() {
        // The same statements, without making a file that nobody asked for.
        "sqlite::memory:".clone_into(&mut settings.database);
    }
    let outbox = Outbox::open(settings).await?;
    let layout = args
        .shards
        .map_or_else(|| outbox.desk().usual_layout(), |shards| Layout { shards });
    if args.print {
        output::text(&printed(&outbox.desk().migrations(layout), args.down, args.to));
        return Ok(Exit::Done);
    }
    migrate(args, &outbox, layout)
        .await
        .map_err(|error| outbox.named(error))
}

async fn migrate(args: &MigrateArgs, outbox: &Outbox, layout: Layout) -> anyhow::Result<Exit> {
    let desk = outbox.desk();
    let before = desk.version().await?;
    let newest = desk.migrations(layout).last().map_or(0, |step| step.version);
    let to = args.to.unwrap_or(if args.down { 0 } else { newest });
    if to < before && !args.down && args.to.is_some() {
        return Err(BadInput(format!(
            "the tables have version {before}, and {to} is a way back; add --down if you mean it"
        ))
        .into());
    }
    if args.down && to > before {
        return Err(BadInput(format!(
            "the tables have version {before}, and {to} is no way back; leave out --down"
        ))
        .into());
    }
    if to == 0 && before > 0 && !confirmed(args.yes, &lost(outbox).await)? {
        return Ok(Exit::Done);
    }
    let wanted = args.shards.filter(|_| to > 0);
    if let Some(wanted) = wanted.filter(|_| before > 0) {
        // Before anything is changed, if the tables are of a version that can say it.
        if let Ok(pulse) = desk.pulse().await {
            same_shards(wanted, pulse.shards)?;
        }
    }
    show_reports();
    let taken = desk.migrate(layout, Some(to)).await?;
    if let Some(wanted) = wanted.filter(|_| to == newest) {
        same_shards(wanted, desk.pulse().await?.shards)?;
    }
    let after = desk.version().await?;
    match args.json {
        true => output::json(&json!({ "before": before, "after": after, "steps": taken })),
        false => output::line(&told(&outbox.address(), before, after)),
    }
    Ok(Exit::Done)
}

/// The number of shards is fixed once it is made: a message's shard is computed from it.
fn same_shards(wanted: u16, there: u32) -> Result<(), BadInput> {
    if u32::from(wanted) == there {
        return Ok(());
    }
    Err(BadInput(format!(
        "--shards {wanted}: the tables were made with {there}, and that stays; leave --shards out, or make other tables with another \
         prefix in the configuration"
    )))
}

/// What going back to nothing costs.
async fn lost(outbox: &Outbox) -> String {
    let all = redeliver_outbox::desk::Filter::default();
    let count = outbox.desk().count(&all).await;
    let messages = count.map_or("all messages".to_owned(), |count| format!("{count} messages"));
    format!("remove the tables of {} with {messages}", outbox.address())
}

fn told(address: &str, before: u32, after: u32) -> String {
    match (before, after) {
        (before, after) if before == after => format!("{address}: the tables have version {after} already"),
        (0, after) => format!("{address}: the tables are made, at version {after}"),
        (_, 0) => format!("{address}: the tables are gone"),
        (before, after) => format!("{address}: the tables went from version {before} to {after}"),
    }
}

fn printed(steps: &[Migration], down: bool, to: Option<u32>) -> String {
    let mut text = String::new();
    let mut one = |step: &Migration, way: &str, statements: &str| {
        text.push_str(&format!(
            "-- {:04} {} ({way})\n{}\n\n",
            step.version,
            step.name,
            statements.trim_end()
        ));
    };
    if down {
        for step in steps.iter().rev().filter(|step| step.version > to.unwrap_or(0)) {
            one(step, "down", &step.down);
        }
    } else {
        for step in steps.iter().filter(|step| step.version <= to.unwrap_or(u32::MAX)) {
            one(step, "up", &step.up);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_printed_in_the_order_of_running_them() {
        let step = |version, name| Migration {
            version,
            name,
            up: format!("CREATE {name};\n"),
            down: format!("DROP {name};"),
        };
        let steps = [step(1, "first"), step(2, "second")];
        assert_eq!(
            printed(&steps, false, None),
            "-- 0001 first (up)\nCREATE first;\n\n-- 0002 second (up)\nCREATE second;\n\n"
        );
        assert_eq!(
            printed(&steps, true, Some(1)),
            "-- 0002 second (down)\nDROP second;\n\n"
        );
        assert_eq!(printed(&steps, false, Some(1)).lines().count(), 3);
    }
}

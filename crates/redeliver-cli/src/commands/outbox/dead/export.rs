use std::{
    fs::File,
    io::{BufWriter, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use redeliver_outbox::{
    MessageId,
    desk::{Filter, MessageRef, Page, Record},
    state::Status,
};

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        filter_flags::{FilterFlags, ReasonFlag},
        form::RecordForm,
    },
    many::missed,
};
use crate::{
    exit::{BadInput, Exit, outbox_help},
    output,
};

/// So many are read at a time.
const PAGE: usize = 200;

/// Write dead letters as JSON lines, for `redeliver dead import` or any other tool; they stay where they are
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead export > dead.jsonl\n  redeliver dead export --to billing --output dead.jsonl\n  \
    redeliver dead export | redeliver dead import --database postgres://me@elsewhere/app -"))]
pub(super) struct ExportArgs {
    /// Only these, by their ids or numbers
    ids: Vec<MessageRef>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the file if it is there
    #[arg(long, requires = "output")]
    force: bool,
    /// With what is marked secret, too; the audit trail tells who did
    #[arg(long)]
    reveal: bool,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "", requires = "reveal")]
    why: String,
    /// Taken because other commands have it: an export is JSON lines anyway
    #[arg(long, hide = true)]
    json: bool,
    #[command(flatten)]
    filter: FilterFlags,
    #[command(flatten)]
    reason: ReasonFlag,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ExportArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let mut filter = args.filter.filter(&[Status::DeadLettered], args.reason.reason);
    filter.messages = args.ids.clone();
    let mut file = args
        .output
        .as_ref()
        .map(|path| create(path, args.force))
        .transpose()?;
    let mut page = Page {
        until: None,
        after: None,
        limit: PAGE,
        newest_first: false,
    };
    let (mut count, mut named) = (0, Vec::new());
    loop {
        let records = outbox.desk().list(&filter, page, true).await?;
        let records = shown(args, outbox, records).await?;
        for record in &records {
            if !write(&mut file, record)? {
                return Ok(Exit::Done);
            }
        }
        count += records.len();
        if !args.ids.is_empty() {
            named.extend(records.iter().map(|record| record.id));
        }
        match records.last() {
            Some(last) if records.len() == PAGE => page.after = Some(last.id.number()),
            _ => break,
        }
        output::progress(&format!("exported {count}"));
    }
    if let Some(file) = &mut file {
        file.flush().context("cannot write the export")?;
    }
    output::progress_done();
    output::note(&format!("exported {count}"));
    missed(outbox, &named, &args.ids, "exported").await?;
    Ok(Exit::Done)
}

/// The dead letters as they are exported: whole, or not at all. What is hidden could not be put back.
async fn shown(args: &ExportArgs, outbox: &Outbox, records: Vec<Record>) -> anyhow::Result<Vec<Record>> {
    let hidden: Vec<MessageId> = records
        .iter()
        .filter(|record| record.is_hidden())
        .map(|record| record.id)
        .collect();
    let Some(first) = hidden.first() else {
        return Ok(records);
    };
    if !args.reveal {
        return Err(BadInput(format!(
            "message {} holds what is marked secret: add --reveal if it is to leave the outbox, which the audit trail tells, or narrow what is \
             exported",
            first.number()
        ))
        .into());
    }
    // On record before anybody has seen it.
    outbox.desk().reveal(&hidden, &args.who.act(&args.why)).await?;
    let all = Filter {
        messages: records.iter().map(|record| MessageRef::Id(record.id)).collect(),
        ..Filter::default()
    };
    let page = Page {
        until: None,
        after: None,
        limit: records.len(),
        newest_first: false,
    };
    Ok(outbox.revealed().list(&all, page, true).await?)
}

/// A file that is there is somebody's; a pipe or a device is not lost by writing to it.
fn create(path: &Path, force: bool) -> anyhow::Result<BufWriter<File>> {
    let named = path.display();
    let opened = match File::create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if path.is_file() && !force {
                let rule = "is there already; name another file, or add --force to overwrite it";
                return Err(BadInput(format!("--output {named}: {rule}")).into());
            }
            File::create(path)
        }
        opened => opened,
    };
    let file = opened.with_context(|| format!("--output {named}: cannot be written"))?;
    Ok(BufWriter::new(file))
}

/// Whether anybody still reads.
fn write(file: &mut Option<BufWriter<File>>, record: &Record) -> anyhow::Result<bool> {
    let form = RecordForm::of(record);
    let Some(file) = file else {
        return Ok(output::json_item(&form));
    };
    let line = serde_json::to_string(&form)?;
    writeln!(file, "{line}").context("cannot write the export")?;
    Ok(true)
}

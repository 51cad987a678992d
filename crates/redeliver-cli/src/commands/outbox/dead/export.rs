use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::Args;
use redeliver_outbox::{
    desk::{MessageRef, Page, Record},
    state::Status,
};

use super::super::{
    database::{DatabaseFlags, Outbox},
    filter_flags::{FilterFlags, ReasonFlag},
    form::RecordForm,
};
use crate::{
    exit::{Exit, outbox_help},
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
    #[command(flatten)]
    filter: FilterFlags,
    #[command(flatten)]
    reason: ReasonFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ExportArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let mut filter = args.filter.filter(&[Status::DeadLettered], args.reason.reason);
    filter.messages = args.ids.clone();
    let mut file = args.output.as_ref().map(create).transpose()?;
    let mut page = Page {
        after: None,
        limit: PAGE,
        newest_first: false,
    };
    let mut count = 0;
    loop {
        let records = outbox.desk().list(&filter, page, true).await?;
        for record in &records {
            if !write(&mut file, record)? {
                return Ok(Exit::Done);
            }
        }
        count += records.len();
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
    Ok(Exit::Done)
}

fn create(path: &PathBuf) -> anyhow::Result<BufWriter<File>> {
    let file =
        File::create(path).with_context(|| format!("--output {}: cannot be written", path.display()))?;
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

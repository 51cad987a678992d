use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;
use clap::Args;
use redeliver_outbox::{
    Payload,
    desk::{Detail, Edit, MessageRef, Record},
    limits,
    secrecy::Hidden,
};
use serde_json::{Map, Value};

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        payload,
        send::header_given,
    },
    moved::check_known,
    show::find_dead,
};
use crate::{
    exit::{BadInput, Exit, outbox_help},
    output,
};

/// Change a dead letter before it is put back; the payload as it was inserted is kept
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead edit 42                                    in $EDITOR\n  \
    redeliver dead edit 42 --payload '{\"order\":7}' --why 'the amount was missing'\n  \
    redeliver dead edit 42 --payload @mended.json && redeliver dead redrive 42\n  redeliver dead edit 42 --to billing-v2"))]
pub(super) struct EditArgs {
    /// Its id, or its number
    id: MessageRef,
    /// The new payload: JSON, @FILE, or - for standard input [default: $EDITOR is opened, unless something else is changed]
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    payload: Option<String>,
    /// The new content type
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// The new headers, all of them; may be given several times
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The new destination
    #[arg(long, value_name = "DESTINATION")]
    to: Option<String>,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &EditArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let detail = find_dead(outbox, args.id).await?;
    let record = &detail.record;
    let changes_nothing_else = args.content_type.is_none() && args.headers.is_empty() && args.to.is_none();
    let new = match &args.payload {
        Some(text) => Some(payload::given(text)?),
        None if changes_nothing_else => Some(edited(&detail)?),
        None => None,
    };
    if changes_nothing_else && (new == record.payload || new.as_ref() == Some(&untouched(record))) {
        output::note("nothing was changed");
        return Ok(Exit::Done);
    }
    let edit = Edit {
        payload: new,
        content_type: args.content_type.clone(),
        headers: headers(&args.headers)?,
        destination: args.to.clone(),
        seen: Some(detail.seen()),
        redrive: false,
    };
    check(&edit, &detail)?;
    let moved_to = edit.destination.as_deref();
    check_known(outbox, moved_to.filter(|to| *to != record.destination))?;
    outbox
        .desk()
        .edit(args.id, &edit, &args.who.act(&args.why))
        .await?;
    let id = record.id;
    match args.json {
        true => output::json(&serde_json::json!({ "edited": id.to_string() })),
        false => output::line(&format!(
            "edited {id}; `redeliver dead redrive {id}` puts it back"
        )),
    }
    Ok(Exit::Done)
}

fn headers(given: &[String]) -> Result<Option<String>, BadInput> {
    if given.is_empty() {
        return Ok(None);
    }
    let mut object = Map::new();
    for header in given {
        let (name, value) = header_given(header)?;
        object.insert(name.to_owned(), value.into());
    }
    Ok(Some(Value::Object(object).to_string()))
}

/// Refuses what would be quarantined again at once.
pub(crate) fn check(edit: &Edit, detail: &Detail) -> Result<(), BadInput> {
    let record = &detail.record;
    let content_type = edit.content_type.as_deref().or(record.content_type.as_deref());
    if let Some(payload) = &edit.payload {
        if payload::is_broken_json(payload, content_type) {
            let rule =
                "is no JSON, which its content type says it is; mend it, or give another --content-type";
            return Err(BadInput(format!("the payload {rule}")));
        }
        if payload.len() > limits::PAYLOAD_LIMIT {
            let (length, limit) = (payload.len(), limits::PAYLOAD_LIMIT);
            return Err(BadInput(format!(
                "the payload has {length} bytes; at most {limit} are allowed"
            )));
        }
    }
    let mut message =
        redeliver_outbox::NewMessage::to(edit.destination.as_ref().unwrap_or(&record.destination));
    if let Some(topic) = &record.topic {
        message = message.topic(topic);
    }
    if let Some(content_type) = &edit.content_type {
        message = message.content_type(content_type);
    }
    if let Some(Ok(Value::Object(headers))) = edit.headers.as_deref().map(serde_json::from_str) {
        for (name, value) in headers {
            message = message.header(name, value.as_str().unwrap_or_default());
        }
    }
    message.validate().map_err(|error| BadInput(error.to_string()))
}

/// What an editor begins with: the payload; where some of it is hidden, a change of nothing; where all of it is, nothing.
fn untouched(record: &Record) -> Payload {
    let shown = || record.payload.clone().unwrap_or(Payload::Text(String::new()));
    match record.hidden {
        None => shown(),
        Some(Hidden { whole: true, .. }) => Payload::from(""),
        Some(Hidden { whole: false, .. }) => Payload::from("{}"),
    }
}

/// The payload as it comes out of the operator's editor.
fn edited(detail: &Detail) -> anyhow::Result<Payload> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|editor| !editor.trim().is_empty()))
        .ok_or_else(|| {
            BadInput("nothing to change: give --payload, or set EDITOR to your editor".to_owned())
        })?;
    let before = untouched(&detail.record);
    if let Some(hidden) = detail.record.hidden {
        output::note(match hidden.whole {
            true => "the payload is marked secret: what is written here takes its place",
            false => {
                "fields of the payload are marked secret: name here what is to change (null removes a field), and all else stays"
            }
        });
    }
    let file = Scratch::holding(before.as_bytes())?;
    let mut words = editor.split_whitespace();
    let status = Command::new(words.next().unwrap_or_default())
        .args(words)
        .arg(&file.0)
        .status()
        .with_context(|| {
            format!("cannot start the editor {editor:?}; set EDITOR to one that is there, or give --payload")
        })?;
    if !status.success() {
        anyhow::bail!("the editor {editor:?} ended with {status}; nothing was changed");
    }
    let mut bytes = fs::read(&file.0).context("cannot read what the editor wrote")?;
    // Editors end the last line; a payload that had no such end gets none.
    if bytes.last() == Some(&b'\n') && !before.as_bytes().ends_with(b"\n") {
        bytes.pop();
    }
    Ok(Payload::from_bytes(bytes))
}

/// A file that only this user reads, and that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn holding(bytes: &[u8]) -> anyhow::Result<Self> {
        let name = format!("redeliver-{:016x}.json", redeliver::entropy::draw());
        let path = env::temp_dir().join(name);
        let mut file = private(&path).context("cannot make a file for the editor")?;
        let scratch = Self(path);
        file.write_all(bytes)
            .context("cannot write a file for the editor")?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(unix)]
fn private(path: &Path) -> std::io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[cfg(not(unix))]
fn private(path: &Path) -> std::io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).open(path)
}

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader},
};

use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use clap::Args;
use redeliver_outbox::{
    DeadReason, NewMessage, Payload,
    desk::{Act, DeadLetter},
    limits,
};
use serde::Deserialize;
use serde_json::json;

use super::{
    super::{
        act_flags::WhoFlag,
        database::{DatabaseFlags, Outbox},
        filter_flags, when,
    },
    many::BATCH,
};
use crate::{
    exit::{BadInput, Exit, outbox_help},
    output,
};

/// Read dead letters from JSON lines, as `redeliver dead export` writes them; they get new ids and stay dead until they are redriven
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver dead import dead.jsonl --why 'moved from the old server'\n  \
    redeliver dead export | redeliver dead import --database sqlite://other.db -"))]
pub(super) struct ImportArgs {
    /// The file, or - for standard input
    file: String,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object a line for each message: its id elsewhere, and here
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

const EXPECTED: &str = "each line must be a JSON object, as `redeliver dead export` writes it";

/// A line of the export, as far as it is taken over.
#[derive(Debug, Deserialize)]
struct Line {
    id: Option<String>,
    destination: String,
    topic: Option<String>,
    key: Option<String>,
    payload: Option<String>,
    payload_base64: Option<String>,
    payload_hidden: Option<String>,
    content_type: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    traceparent: Option<String>,
    dead_letter_reason: String,
    last_error: Option<String>,
    #[serde(default)]
    attempts: u32,
    expires_at: Option<String>,
}

pub(super) async fn run(args: &ImportArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let source: Box<dyn BufRead> = match args.file.as_str() {
        "-" => Box::new(io::stdin().lock()),
        path => {
            let file = File::open(path).map_err(|error| unopened(path, &error))?;
            Box::new(BufReader::new(file))
        }
    };
    let act = args.who.act(&args.why);
    let mut import = Import {
        outbox,
        act: &act,
        as_json: args.json,
        waiting: Vec::new(),
        done: 0,
    };
    let read = import.all(source, &args.file).await;
    output::progress_done();
    output::note(&format!("imported {}", import.done));
    read.map(|()| Exit::Done)
}

/// Whether there is something to read, before a database is made for it.
pub(super) fn look(args: &ImportArgs) -> Result<(), BadInput> {
    match args.file.as_str() {
        "-" => Ok(()),
        path => fs::metadata(path)
            .map(|_| ())
            .map_err(|error| unopened(path, &error)),
    }
}

fn unopened(path: &str, error: &io::Error) -> BadInput {
    let next = "name a file of `redeliver dead export`, or - for standard input";
    BadInput(format!("{path}: {error}; {next}"))
}

struct Import<'a> {
    outbox: &'a Outbox,
    act: &'a Act,
    as_json: bool,
    waiting: Vec<(Option<String>, DeadLetter)>,
    done: usize,
}

impl Import<'_> {
    async fn all(&mut self, mut source: Box<dyn BufRead>, name: &str) -> anyhow::Result<()> {
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            let read = source.read_line(&mut line);
            let wrong = |what: String| BadInput(format!("{name}:{number}: {what}; {EXPECTED}"));
            if read.map_err(|error| wrong(error.to_string()))? == 0 {
                break;
            }
            if line.trim().is_empty() {
                continue;
            }
            let letter = letter(&line).map_err(wrong)?;
            self.waiting.push(letter);
            if self.waiting.len() >= BATCH {
                self.write().await?;
            }
        }
        self.write().await
    }

    async fn write(&mut self) -> anyhow::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let (before, letters): (Vec<_>, Vec<_>) = self.waiting.drain(..).unzip();
        let imported = self.outbox.desk().import(&letters, self.act).await;
        let ids = imported.context("cannot import")?;
        self.done += ids.len();
        for (before, id) in before.iter().zip(&ids) {
            match self.as_json {
                true => output::json(&json!({ "from": before, "imported": id.to_string() })),
                false => output::line(&id.to_string()),
            }
        }
        output::progress(&format!("imported {}", self.done));
        Ok(())
    }
}

/// What a line holds, or what is wrong with it.
pub(crate) fn letter(text: &str) -> Result<(Option<String>, DeadLetter), String> {
    let line: Line = serde_json::from_str(text).map_err(|error| unread(&error))?;
    if line.payload_hidden.is_some() {
        let rule = "is marked secret where it comes from, and not here: export it there with `redeliver dead export --reveal`";
        return Err(format!("the payload {rule}"));
    }
    let payload = match (line.payload, line.payload_base64) {
        (Some(text), None) => Payload::from(text),
        (None, Some(encoded)) => {
            let bytes = BASE64
                .decode(encoded)
                .map_err(|error| format!("payload_base64: {error}"))?;
            Payload::Binary(bytes.into())
        }
        _ => return Err("must have either payload or payload_base64".to_owned()),
    };
    let reason: DeadReason = filter_flags::reason(&line.dead_letter_reason)
        .map_err(|rule| format!("dead_letter_reason {:?}: {rule}", line.dead_letter_reason))?;
    let mut message = NewMessage::to(line.destination).payload(payload);
    if let Some(topic) = line.topic {
        message = message.topic(topic);
    }
    if let Some(key) = line.key {
        message = message.key(key);
    }
    if let Some(content_type) = line.content_type {
        message = message.content_type(content_type);
    }
    for (name, value) in line.headers.unwrap_or_default() {
        message = message.header(name, value);
    }
    if let Some(traceparent) = line.traceparent {
        message = message.traceparent(traceparent);
    }
    if let Some(expiry) = line.expires_at {
        message = message
            .expires_at(when::parse(&expiry).map_err(|rule| format!("expires_at {expiry:?}: {rule}"))?);
    }
    let letter = DeadLetter {
        message,
        reason,
        error: limits::error_text(&line.last_error.unwrap_or_default()),
        attempts: line.attempts,
    };
    Ok((line.id, letter))
}

/// What is wrong, without the line, which is always the first to whoever reads one.
fn unread(error: &serde_json::Error) -> String {
    let (told, column) = (error.to_string(), error.column());
    let what = told.split(" at line ").next().unwrap_or_default();
    format!("{what} (at byte {column})")
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::state::Status;

    use super::{
        super::super::{form::RecordForm, show::tests::record},
        *,
    };

    #[test]
    fn what_is_exported_is_imported() {
        for payload in [
            Payload::from("{\"order\":7}\n"),
            Payload::Binary(vec![0, 0xff, 10].into()),
        ] {
            let mut dead = record(Status::DeadLettered);
            dead.payload = Some(payload.clone());
            let line = serde_json::to_string(&RecordForm::of(&dead)).unwrap();
            let (id, letter) = letter(&line).unwrap();
            assert_eq!(id, Some(dead.id.to_string()));
            let message = NewMessage::to("billing")
                .key("order-7")
                .payload(payload)
                .header("x-tenant", "acme");
            let expected = DeadLetter {
                message,
                reason: DeadReason::AttemptsExhausted,
                error: "503 Service Unavailable".to_owned(),
                attempts: 3,
            };
            assert_eq!(letter, expected);
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_named() {
        let errors: Vec<String> = [
            "{oops",
            "{}",
            r#"{"destination":"d","dead_letter_reason":"permanent"}"#,
            r#"{"destination":"d","payload":"","dead_letter_reason":"bored"}"#,
            r#"{"destination":"d","payload_base64":"?","dead_letter_reason":"permanent"}"#,
            r#"{"destination":"d","payload":"{\"a\":\"…\"}","payload_hidden":"fields","dead_letter_reason":"permanent"}"#,
        ]
        .map(|line| letter(line).unwrap_err())
        .to_vec();
        insta::assert_snapshot!(errors.join("\n"));
    }
}

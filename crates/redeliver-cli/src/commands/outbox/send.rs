//! `redeliver send`: messages into the outbox.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    time::Duration,
};

use clap::Args;
use redeliver_outbox::{
    MessageId, NewMessage, Payload, desk::Enqueued, destination::check_header_name, limits,
};
use redeliver_policy::duration;
use serde_json::json;

use super::{
    database::{DatabaseFlags, Outbox},
    payload,
};
use crate::{
    commands::call::input,
    exit::{BadInput, Exit, outbox_help},
    output,
};

/// So many messages, or bytes of payload, are inserted in one transaction.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 4 << 20;

/// Put a message into the outbox, or one for each line of a file; prints the ids
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver send --to log --payload '{\"hello\":\"world\"}'\n  \
    redeliver send --to billing --key order-7 --payload @order.json\n  \
    redeliver send --topic orders.paid --key order-7 --payload @order.json\n  redeliver send --to billing --lines orders.jsonl --delay 30s\n  redeliver send --to billing --payload - --deduplication-key order-7-created < order.json\n  redeliver serve      delivers them"))]
pub(crate) struct SendArgs {
    /// The destination's name
    #[arg(long, value_name = "DESTINATION", required_unless_present = "topic")]
    to: Option<String>,
    /// What it is about, such as orders.paid; without --to it goes to every destination that the relay's routes name for it
    #[arg(long)]
    topic: Option<String>,
    /// Messages with the same destination and key are delivered one at a time, in order
    #[arg(long)]
    key: Option<String>,
    /// What is delivered: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    payload: Option<String>,
    /// One message for each line of this file, or of standard input with -
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["payload", "deduplication_key"])]
    lines: Option<String>,
    /// Not delivered before this long from now
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    delay: Option<Duration>,
    /// Quarantined instead of delivered once it is this old
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    expires_in: Option<Duration>,
    /// A header for the destination; may be given several times
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Of messages with the same one, only the first is inserted
    #[arg(long, value_name = "KEY")]
    deduplication_key: Option<String>,
    /// The type of the payload [default: application/json]
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// Print no ids
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// One JSON object a line for each message
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

/// What is to be sent, checked before anything is opened or made.
#[derive(Debug)]
pub(super) enum Given {
    One(NewMessage),
    Lines { template: NewMessage, file: String },
}

pub(super) fn given(args: &SendArgs) -> Result<Given, BadInput> {
    let template = template(args)?;
    match (&args.lines, &args.payload) {
        (Some(file), _) => Ok(Given::Lines {
            template,
            file: file.clone(),
        }),
        (None, Some(text)) => {
            let payload = payload::given(text)?;
            let broken = payload::is_broken_json(&payload, args.content_type.as_deref());
            let message = template.payload(payload);
            message.validate().map_err(|error| BadInput(error.to_string()))?;
            if broken {
                output::note("the payload is no JSON: a destination that expects JSON will quarantine it");
            }
            Ok(Given::One(message))
        }
        (None, None) => Err(BadInput(
            "nothing to send: give --payload, such as --payload '{\"hello\":1}', or --lines with a file"
                .to_owned(),
        )),
    }
}

pub(super) async fn run(args: &SendArgs, given: Given, outbox: &Outbox) -> anyhow::Result<Exit> {
    let mut sending = Sending {
        args,
        outbox,
        waiting: Vec::new(),
        waiting_bytes: 0,
        sent: 0,
    };
    match given {
        Given::One(message) => {
            sending.waiting.push(message);
            sending.write().await?;
        }
        Given::Lines { template, file } => {
            let read = sending.lines(&template, &file).await;
            output::progress_done();
            if read.is_err() || !args.quiet {
                output::note(&format!("{} messages are in the outbox", sending.sent));
            }
            read?;
        }
    }
    Ok(Exit::Done)
}

/// The message without its payload.
fn template(args: &SendArgs) -> Result<NewMessage, BadInput> {
    if let (Some(delay), Some(age)) = (args.delay, args.expires_in)
        && delay >= age
    {
        return Err(BadInput(format!(
            "--delay {}, --expires-in {}: it would be too old before it is due; give --expires-in more than --delay",
            duration::display(delay),
            duration::display(age)
        )));
    }
    let mut message = NewMessage::to(args.to.as_deref().unwrap_or_default());
    if let Some(topic) = &args.topic {
        message = message.topic(topic);
    }
    if let Some(key) = &args.key {
        message = message.key(key);
    }
    if let Some(delay) = args.delay {
        message = message.delay(delay);
    }
    if let Some(age) = args.expires_in {
        message = message.expires_after(age);
    }
    if let Some(key) = &args.deduplication_key {
        message = message.deduplication_key(key);
    }
    if let Some(content_type) = &args.content_type {
        message = message.content_type(content_type);
    }
    for header in &args.headers {
        let (name, value) = header_given(header)?;
        message = message.header(name, value);
    }
    message.validate().map_err(|error| BadInput(error.to_string()))?;
    Ok(message)
}

/// A header that a destination would take.
pub(super) fn header_given(text: &str) -> Result<(&str, &str), BadInput> {
    let (name, value) = input::header(text)?;
    check_header_name(name).map_err(|rule| BadInput(format!("--header: {rule}")))?;
    Ok((name, value))
}

struct Sending<'a> {
    args: &'a SendArgs,
    outbox: &'a Outbox,
    waiting: Vec<NewMessage>,
    waiting_bytes: usize,
    sent: usize,
}

impl Sending<'_> {
    async fn lines(&mut self, template: &NewMessage, name: &str) -> anyhow::Result<()> {
        let mut source: Box<dyn BufRead> = match name {
            "-" => Box::new(io::stdin().lock()),
            path => {
                let file = File::open(path).map_err(|error| BadInput(format!("--lines {path}: {error}")))?;
                Box::new(BufReader::new(file))
            }
        };
        for number in 1.. {
            let wrong = |what: String| BadInput(format!("--lines {name}:{number}: {what}"));
            let Some(line) = line(&mut source).map_err(|error| wrong(error.to_string()))? else {
                break;
            };
            if line.is_empty() {
                continue;
            }
            let length = line.len();
            let message = template.clone().payload(Payload::from_bytes(line));
            if let Err(error) = message.validate() {
                // What came before the line is as good as if the file ended there.
                self.write().await?;
                return Err(wrong(error.to_string()).into());
            }
            self.waiting.push(message);
            self.waiting_bytes += length;
            if self.waiting.len() >= BATCH || self.waiting_bytes >= BATCH_BYTES {
                self.write().await?;
            }
        }
        self.write().await
    }

    async fn write(&mut self) -> anyhow::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let done = self.outbox.desk().enqueue(&self.waiting).await?;
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.sent += done.len();
        for enqueued in &done {
            self.tell(*enqueued);
        }
        output::progress(&format!("{} messages are in the outbox", self.sent));
        Ok(())
    }

    fn tell(&self, enqueued: Enqueued) {
        let (id, duplicate) = (enqueued.id(), matches!(enqueued, Enqueued::Duplicate(_)));
        if self.args.json {
            let (text, number) = (id.map(|id| id.to_string()), id.map(MessageId::number));
            output::json(&json!({ "id": text, "number": number, "duplicate": duplicate }));
            return;
        }
        if duplicate {
            output::note("nothing was inserted: a message with this de-duplication key was there before");
        }
        if let Some(id) = id.filter(|_| !self.args.quiet) {
            output::line(&id.to_string());
        }
    }
}

/// The next line without its end; one that is longer than a payload may be is cut just behind the limit, and so refused.
fn line(source: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let longest = limits::PAYLOAD_LIMIT as u64 + 2;
    if source.by_ref().take(longest).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_where_it_ends() {
        let mut source = &b"one\r\n\ntwo\xff"[..];
        let mut lines = Vec::new();
        while let Some(line) = line(&mut source).unwrap() {
            lines.push(line);
        }
        assert_eq!(lines, [&b"one"[..], b"", b"two\xff"]);
    }
}

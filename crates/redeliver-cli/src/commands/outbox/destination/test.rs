//! `redeliver destination test`: one message, straight to its destination.

use clap::Args;
use redeliver_policy::StopReason;

use super::{
    super::{database::DatabaseFlags, payload, send::header_given},
    form::TriedForm,
    trial::{Test, Tried, chosen},
};
use crate::{
    exit::{Exit, help},
    output, readable,
};

const ENDS: [(Exit, &str); 6] = [
    (Exit::Done, "delivered"),
    (Exit::Failed, "not delivered, and a relay would try again"),
    (Exit::BadInput, "the command or the configuration makes no sense"),
    (Exit::NotFound, "no such destination"),
    (
        Exit::GaveUp(StopReason::Permanent),
        "refused for good: a relay would make a dead letter of it",
    ),
    (Exit::GaveUp(StopReason::UnknownOutcome), "it may have arrived"),
];

/// Send one test message straight to a destination, past the outbox, and tell what came of it
#[derive(Args, Clone, Debug)]
#[command(after_long_help = help("  redeliver destination test billing\n  \
    redeliver destination test billing --payload '{\"order\":7,\"test\":true}' --header 'x-test: 1'\n  \
    redeliver destination test billing --file order.json --json\n\n\
    The message is sent once, as a relay would send its first attempt: signed, with its headers and credentials, and with an id that no message \
    in the outbox has. Nothing is written into the database. Its payload says that it is a test unless you give another.", &ENDS))]
pub(crate) struct TestArgs {
    /// The destination's name
    #[arg(value_name = "NAME")]
    name: String,
    /// What is sent: JSON, @FILE, or - for standard input [default: a JSON object with "test": true]
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    payload: Option<String>,
    /// What is sent, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    file: Option<String>,
    /// A header of the message; may be given several times
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The message's key, for a destination whose templates need one
    #[arg(long)]
    key: Option<String>,
    /// The type of the payload [default: application/json]
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseFlags,
}

pub(super) async fn run(args: &TestArgs) -> anyhow::Result<Exit> {
    let settings = args.database.settings()?;
    let route = chosen(&settings, &args.name)?;
    let mut test = Test::to(&args.name);
    if let Some(key) = &args.key {
        test = test.change(|message| message.key(key));
    }
    if let Some(content_type) = &args.content_type {
        test = test.change(|message| message.content_type(content_type));
    }
    for header in &args.headers {
        let (name, value) = header_given(header)?;
        test = test.change(|message| message.header(name, value));
    }
    let given = match (&args.payload, &args.file) {
        (Some(text), _) => Some(payload::given(text)?),
        (None, Some(file)) => Some(payload::given(&format!("@{file}"))?),
        (None, None) => None,
    };
    if let Some(payload) = given {
        test = test.change(|message| message.payload(payload));
    }
    let tried = test.send(route).await;
    let tried = tried.map_err(|unsent| unsent.or("give another with --payload"))?;
    match args.json {
        true => output::json(&TriedForm::of(&args.name, &tried)),
        false => output::line(&words(&args.name, &tried)),
    }
    Ok(tried.exit())
}

fn words(name: &str, tried: &Tried) -> String {
    let name = readable::line(name, 80);
    let mut text = format!("{name}: {}", tried.told());
    text.push_str(&format!("\n  id       {}", tried.id));
    text.push_str(&format!("\n  took     {}", readable::duration(tried.took)));
    if let Some(answer) = &tried.trial.answer {
        let said = if answer.said.is_empty() { "" } else { ": " };
        text.push_str(&format!(
            "\n  answer   {} over {}{said}{}",
            answer.status, answer.protocol, answer.said
        ));
    }
    text
}

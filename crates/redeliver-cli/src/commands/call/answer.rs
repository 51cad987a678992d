//! How a call ended, on standard output.

use std::fs;

use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use redeliver::{
    GaveUp,
    http::{Error, Response},
};
use redeliver_policy::StopReason;
use serde::Serialize;

use super::{
    CallArgs,
    record::{AttemptRecord, Record, millis},
};
use crate::{exit::Exit, output};

/// How a call ended.
pub(crate) enum Ended {
    Answered(Response),
    GaveUp(GaveUp<Error>),
    Cancelled,
}

impl From<Result<Response, GaveUp<Error>>> for Ended {
    fn from(result: Result<Response, GaveUp<Error>>) -> Self {
        match result {
            Ok(response) => Self::Answered(response),
            Err(gave_up) => Self::GaveUp(gave_up),
        }
    }
}

impl Ended {
    pub(crate) fn exit(&self) -> Exit {
        match self.reason() {
            None => Exit::Done,
            Some(reason) => Exit::GaveUp(reason),
        }
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        match self {
            Self::Answered(_) => None,
            Self::GaveUp(gave_up) => Some(gave_up.reason),
            Self::Cancelled => Some(StopReason::Cancelled),
        }
    }

    /// The last answer there was, be it a failure's. An answer before an attempt that was cut is not the last word.
    fn response(&self) -> Option<&Response> {
        match self {
            Self::Answered(response) => Some(response),
            Self::GaveUp(gave_up) if !gave_up.timed_out => gave_up.last_error.as_ref()?.response(),
            _ => None,
        }
    }

    fn error(&self) -> Option<String> {
        match self {
            Self::Answered(_) => None,
            Self::GaveUp(gave_up) => Some(gave_up.to_string()),
            Self::Cancelled => Some("cancelled".to_owned()),
        }
    }
}

/// Writes the body where it is wanted, or everything as JSON.
pub(crate) fn write(args: &CallArgs, record: &Record, ended: &Ended) -> anyhow::Result<()> {
    let response = ended.response();
    if let (Some(path), Ended::Answered(response)) = (&args.output, ended) {
        fs::write(path, &response.body)
            .with_context(|| format!("cannot write the body to {}", path.display()))?;
    }
    if args.json {
        output::json(&report(args, record, ended));
        return Ok(());
    }
    if args.quiet
        && let Some(error) = ended.error()
    {
        output::note(&format!("error: {error}"));
    }
    let Some(response) = response else {
        return Ok(());
    };
    if args.include {
        output::bytes(&head(response));
    }
    if args.output.is_none() {
        output::bytes(&response.body);
    }
    Ok(())
}

fn head(response: &Response) -> Vec<u8> {
    let mut head = format!("{}\n", response.status).into_bytes();
    for (name, value) in &response.headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.push(b'\n');
    }
    head.push(b'\n');
    head
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'r> {
    ok: bool,
    status: Option<u16>,
    attempts: u32,
    elapsed_ms: f64,
    reason: Option<&'static str>,
    error: Option<String>,
    /// The body as text, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'r str>,
    /// The body, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    history: Vec<AttemptRecord>,
}

fn report<'r>(args: &CallArgs, record: &Record, ended: &'r Ended) -> Report<'r> {
    let history = record.attempts();
    let response = ended.response();
    let body = response
        .filter(|_| args.output.is_none())
        .map(|response| &response.body);
    let text = body.and_then(|body| std::str::from_utf8(body).ok());
    Report {
        ok: matches!(ended, Ended::Answered(_)),
        status: response.map(|response| response.status.as_u16()),
        attempts: history.last().map_or(0, |last| last.attempt),
        elapsed_ms: millis(record.elapsed()),
        reason: ended.reason().map(StopReason::as_str),
        error: ended.error(),
        body: text,
        body_base64: body.filter(|_| text.is_none()).map(|body| STANDARD.encode(body)),
        history,
    }
}

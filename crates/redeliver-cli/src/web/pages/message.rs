//! One message: where it is and why, everything that happened to it, what it says.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::{
    DeadReason, MessageId, Timestamp,
    desk::{Branch, Detail, Filter, MessageRef, Record},
    state::Status,
};

use super::{
    acting::version,
    address, destinations,
    frame::{Answered, Frame, MESSAGES, Visitor, Wrong, page as answer},
    payload::{Compared, Shown, compared},
    timeline::{self, Moment},
    words::{Chip, Prose, When, bytes},
};
use crate::{
    commands::outbox::{destination::overview::obstacles, show::marked_secret, why},
    readable,
    web::{problem::Problem, site::Site},
};

/// The page of a message.
pub(super) fn address(id: MessageId) -> String {
    format!("/messages/{id}")
}

/// A name and what it stands for, perhaps with a page of its own.
#[derive(Debug)]
struct Fact {
    name: &'static str,
    value: String,
    href: Option<String>,
}

/// A message that an event became.
#[derive(Debug)]
struct Made {
    number: i64,
    href: Option<String>,
    destination: String,
    chip: Option<Chip>,
    attempts: u32,
    error: String,
}

#[derive(Debug, Template)]
#[template(path = "message.html", blocks = ["live"])]
struct Message {
    frame: Frame,
    number: i64,
    id: String,
    href: String,
    chip: Chip,
    reason: &'static str,
    why: Prose,
    dead: bool,
    /// What to know before it is redriven.
    warning: Option<String>,
    version: String,
    facts: Vec<Fact>,
    headers: Vec<(String, String)>,
    trace: Option<Trace>,
    timeline: Vec<Moment>,
    created: When,
    payload: Option<Shown>,
    /// How long the payload is, if not all of it is shown.
    hidden: Option<String>,
    content_type: String,
    /// How an operator changed it; none where nobody did.
    edited: Option<Option<Vec<Compared>>>,
    made: Vec<Made>,
}

/// Where a message belongs in a trace.
#[derive(Debug, PartialEq, Eq)]
struct Trace {
    id: String,
    whole: String,
}

/// The message that an address names.
pub(super) async fn found(site: &Site, name: &str) -> Result<Detail, Wrong> {
    let message: MessageRef = name
        .parse()
        .map_err(|error: redeliver_outbox::NoMessageId| Problem::not_found(error.to_string()))?;
    let found = site.desk.find(message).await?;
    let missing = || {
        let next =
            "what was sent is forgotten after its retention; the list of messages shows which there are";
        Problem::not_found(format!(
            "there is no message {}; {next}",
            readable::line(name, 60)
        ))
    };
    Ok(found.ok_or_else(missing)?)
}

pub(super) async fn page(
    State(site): State<Arc<Site>>,
    visitor: Visitor,
    Path(name): Path<String>,
) -> Answered {
    let detail = found(&site, &name).await?;
    let record = &detail.record;
    let now = Timestamp::wall();
    let obstacles = obstacles(&*site.desk, record, now).await?;
    let known = why::leads_somewhere(&site.about.routes, record);
    let only = Filter {
        messages: vec![MessageRef::Id(record.id)],
        statuses: vec![Status::DeadLettered],
        ..Filter::default()
    };
    let dead = record.status == Status::DeadLettered;
    let message = Message {
        warning: match dead {
            true => site.forgotten_warning(&only).await?,
            false => None,
        },
        frame: Frame::new(
            format!("Message {}", record.id.number()),
            MESSAGES,
            &site,
            &visitor,
        ),
        number: record.id.number(),
        id: record.id.to_string(),
        href: address(record.id),
        chip: Chip::of(record.status),
        reason: record.dead_letter_reason.map_or("", DeadReason::as_str),
        why: Prose::of(&format!(
            "{}{}",
            why::sentence(&detail, known, obstacles.trouble.as_deref(), now),
            obstacles.refused
        )),
        dead,
        version: version(&detail),
        facts: facts(&detail),
        headers: headers(record.headers.as_deref().unwrap_or_default()),
        trace: record.traceparent.as_deref().map(trace),
        timeline: timeline::of(&detail, now),
        created: When::of(record.created_at, now),
        payload: record.payload.as_ref().filter(|_| !visitor.again).map(Shown::of),
        hidden: record.hidden.map(|hidden| bytes(hidden.bytes as u64)),
        content_type: readable::line(record.content_type.as_deref().unwrap_or("application/json"), 80),
        edited: detail
            .original_payload
            .as_ref()
            .zip(record.payload.as_ref())
            .filter(|_| !visitor.again)
            .map(|(original, payload)| compared(original, payload)),
        made: detail.fan_out.iter().map(made).collect(),
    };
    Ok(answer(&visitor, &message, &message.as_live()))
}

fn facts(detail: &Detail) -> Vec<Fact> {
    let record = &detail.record;
    let fact = |name, value: &str, href| Fact {
        name,
        value: readable::line(value, 300),
        href,
    };
    let mut facts = Vec::new();
    match record.destination.as_str() {
        "" => facts.push(fact("Destination", "none: it is an event", None)),
        name => facts.push(fact("Destination", name, Some(destinations::address(name)))),
    }
    if let Some(topic) = &record.topic {
        facts.push(fact("Topic", topic, Some(address::messages(&[("topic", topic)]))));
    }
    if let Some(key) = &record.key {
        facts.push(fact("Key", key, Some(lane(record, key))));
    }
    facts.push(fact("Attempts", &attempts(record), None));
    facts.push(fact("Number", &record.id.number().to_string(), None));
    facts.push(fact("Shard", &record.shard.to_string(), None));
    if let Some(worker) = &record.locked_by {
        facts.push(fact("Worker", worker, Some("/workers".to_owned())));
    }
    for (name, other) in [
        ("Behind", detail.waits_behind),
        ("Parked behind", detail.parked_behind),
        ("Made of event", detail.event),
    ] {
        if let Some(other) = other {
            facts.push(fact(name, &other.number().to_string(), Some(address(other))));
        }
    }
    if detail.gap {
        facts.push(fact("Lane", "went on without it", None));
    }
    if let Some(hold) = &detail.lane_hold {
        let by = format!("parked by {}", readable::line(&hold.who, 80));
        facts.push(fact("Lane", &by, Some("/lanes".to_owned())));
    }
    facts
}

/// The messages of the same lane.
fn lane(record: &Record, key: &str) -> String {
    match record.destination.as_str() {
        "" => address::messages(&[("key", key)]),
        destination => address::messages(&[("to", destination), ("key", key)]),
    }
}

fn attempts(record: &Record) -> String {
    match record.redrives {
        0 => record.attempts.to_string(),
        1 => format!("{} since it was put back", record.attempts),
        times => format!("{} since it was put back, {times} times", record.attempts),
    }
}

/// Each header by its name; what is no object of texts, as it is.
fn headers(json: &str) -> Vec<(String, String)> {
    if json.trim().is_empty() {
        return Vec::new();
    }
    let line = |text: &str| readable::line(text, 2_000);
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(json) {
        Ok(object) => object
            .iter()
            .map(|(name, value)| {
                (
                    line(name),
                    value.as_str().map_or_else(|| line(&value.to_string()), line),
                )
            })
            .collect(),
        Err(_) => vec![("not understood".to_owned(), line(json))],
    }
}

fn trace(traceparent: &str) -> Trace {
    let id = traceparent.split('-').nth(1).filter(|id| id.len() == 32);
    Trace {
        id: readable::line(id.unwrap_or(traceparent), 100),
        whole: readable::line(traceparent, 200),
    }
}

fn made(branch: &Branch) -> Made {
    let record = branch.record.as_ref();
    Made {
        number: branch.number,
        href: record.map(|record| address(record.id)),
        destination: readable::line(&branch.destination, 60),
        chip: record.map(|record| Chip::of(record.status)),
        attempts: record.map_or(0, |record| record.attempts),
        error: record
            .and_then(|record| record.last_error.as_deref())
            .map_or(String::new(), |error| readable::line(error, 160)),
    }
}

/// The payload byte for byte, to keep: a browser is not to run it, whatever it says to be.
pub(super) async fn payload(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
) -> Result<Response, Wrong> {
    let detail = found(&site, &name).await?;
    if detail.record.hidden.is_some() {
        return Err(Problem::new(StatusCode::FORBIDDEN, marked_secret(&detail.record)).into());
    }
    let Some(payload) = detail.record.payload else {
        return Err(Problem::not_found("the history has kept no payload of this message").into());
    };
    let (kind, ending) = match payload.as_text() {
        Some(_) => ("text/plain; charset=utf-8", "txt"),
        None => ("application/octet-stream", "bin"),
    };
    let name = format!(
        "attachment; filename=\"message-{}.{ending}\"",
        detail.record.id.number()
    );
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, payload.as_bytes().to_vec()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_shown_whatever_they_are() {
        assert_eq!(
            headers(r#"{"x-a":"1","x-b":2}"#),
            [
                ("x-a".to_owned(), "1".to_owned()),
                ("x-b".to_owned(), "2".to_owned())
            ]
        );
        assert_eq!(
            headers("[oops"),
            [("not understood".to_owned(), "[oops".to_owned())]
        );
        assert!(headers(" ").is_empty());
    }

    #[test]
    fn a_trace_is_known_by_its_id() {
        let whole = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(trace(whole).id, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(trace("nonsense").id, "nonsense");
    }
}

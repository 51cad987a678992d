//! `redeliver show`: everything about one message, in the order in which an operator looks.

use std::fmt::Write as _;

use clap::Args;
use redeliver_outbox::{
    Timestamp,
    desk::{AttemptRecord, Branch, Detail, MessageRef, Record},
    secrecy::Hidden,
    state::Status,
};

use super::{
    audit,
    database::{DatabaseFlags, Outbox},
    destination::overview::obstacles,
    form::DetailForm,
    payload, when,
};
use crate::{
    exit::{BadInput, Exit, NotFound, outbox_help},
    output, readable,
    table::table,
};

/// Show all of one message: why it is where it is, every failed attempt, the payload, what operators did
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver show 42\n  redeliver show 00000000-0000-802a-9f86-d081884c7d65 --json\n  \
    redeliver show 42 --raw > payload.json"))]
pub(crate) struct ShowArgs {
    /// Its id, or its number
    id: MessageRef,
    /// One JSON object
    #[arg(long, conflicts_with = "raw")]
    json: bool,
    /// Nothing but the payload, byte for byte
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ShowArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let detail = find(outbox, args.id).await?;
    if args.raw {
        if detail.record.hidden.is_some() {
            return Err(BadInput(marked_secret(&detail.record)).into());
        }
        match &detail.record.payload {
            Some(payload) => output::bytes(payload.as_bytes()),
            None => {
                return Err(NotFound("the history has kept no payload of this message".to_owned()).into());
            }
        }
    } else if args.json {
        output::json(&DetailForm::of(&detail));
    } else {
        let now = Timestamp::wall();
        let obstacles = obstacles(outbox.desk(), &detail.record, now).await?;
        output::line(&words(&detail, obstacles.trouble.as_deref(), now));
        if !obstacles.refused.is_empty() {
            output::line(obstacles.refused.trim_start());
        }
    }
    Ok(Exit::Done)
}

/// Why a payload does not come out.
pub(crate) fn marked_secret(record: &Record) -> String {
    let destination = readable::line(&record.destination, 200);
    format!(
        "what is sent to {destination:?} is marked secret in the configuration, and is for the destination only"
    )
}

/// The message, or the sentence that there is none.
pub(super) async fn find(outbox: &Outbox, message: MessageRef) -> anyhow::Result<Detail> {
    let found = outbox.desk().find(message).await?;
    found.ok_or_else(|| {
        let next = "`redeliver list` shows which there are; what was sent is forgotten after its retention";
        NotFound(format!("there is no message {}; {next}", name(message))).into()
    })
}

pub(super) fn name(message: MessageRef) -> String {
    match message {
        MessageRef::Id(id) => id.to_string(),
        MessageRef::Number(number) => number.to_string(),
    }
}

/// `trouble` is what is the matter with the destination, if something is.
pub(super) fn words(detail: &Detail, trouble: Option<&str>, now: Timestamp) -> String {
    let record = &detail.record;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<13} {value}");
    };
    match record.dead_letter_reason {
        Some(reason) => line("reason", &format!("{reason}; {}", status(detail, now))),
        None => line("status", &status(detail, now)),
    }
    if let Some(error) = &record.last_error {
        line("last error", &readable::line(error, usize::MAX));
    }
    line("attempts", &attempts_made(record, now));
    if let Some(next) = record.next_attempt_at {
        line("next attempt", &when::both(next, now));
    } else if record.put_away {
        line(
            "next attempt",
            "put away until its destination takes something again",
        );
    }
    match &record.payload {
        Some(payload) => {
            let kind = record.content_type.as_deref().unwrap_or("application/json");
            let (bytes, secret) = match record.hidden {
                Some(Hidden { bytes, whole: true }) => (bytes, ", marked secret"),
                Some(Hidden { bytes, .. }) => (bytes, ", some of it marked secret"),
                None => (payload.len(), ""),
            };
            line(
                "payload",
                &format!("{}, {bytes} bytes{secret}", readable::line(kind, 80)),
            );
            line("", &indented(&payload::shown(payload)));
        }
        None => line("payload", "not kept"),
    }
    if let Some(original) = &detail.original_payload {
        let length = format!("{} bytes", original.len());
        line("inserted as", if record.hidden.is_some() { "" } else { &length });
        line("", &indented(&payload::shown(original)));
    }
    line(
        "id",
        &format!(
            "{} (number {}, shard {})",
            record.id,
            record.id.number(),
            record.shard
        ),
    );
    if !record.destination.is_empty() {
        let destination = readable::line(&record.destination, 200);
        match trouble {
            Some(trouble) => line("destination", &format!("{destination}, which is {trouble}")),
            None => line("destination", &destination),
        }
    }
    for (name, value) in [
        ("topic", &record.topic),
        ("key", &record.key),
        ("traceparent", &record.traceparent),
        ("headers", &record.headers),
        ("worker", &record.locked_by),
    ] {
        if let Some(value) = value {
            line(name, &readable::line(value, 1000));
        }
    }
    line("inserted", &when::both(record.created_at, now));
    if let Some(expiry) = record.expires_at {
        line("expires", &when::both(expiry, now));
    }
    if let Some(event) = detail.event {
        line(
            "made of",
            &format!("the event {event} (`redeliver show {}`)", event.number()),
        );
    }
    if !detail.fan_out.is_empty() {
        let _ = write!(text, "\n{}\n", fan_out(&detail.fan_out));
    }
    if !detail.attempts.is_empty() {
        let _ = write!(text, "\n{}\n", attempts(&detail.attempts));
    }
    if !detail.audit.is_empty() {
        let _ = write!(text, "\n{}\n", audit::words(&detail.audit));
    }
    text.trim_end().to_owned()
}

fn status(detail: &Detail, now: Timestamp) -> String {
    let record = &detail.record;
    let since = match record.status {
        Status::Sent => record.sent_at,
        Status::DeadLettered | Status::Discarded => record.dead_lettered_at,
        Status::FannedOut => record.fanned_out_at,
        _ => None,
    };
    let mut words = record.status.to_string();
    if let Some(since) = since {
        let _ = write!(words, ", {}", when::both(since, now));
    }
    if let Some(took) = detail.took {
        let _ = write!(words, "; the last attempt took {}", readable::duration(took));
    }
    if detail.gap {
        words.push_str("; its lane went on without it");
    }
    if let Some(head) = detail.parked_behind {
        let _ = write!(words, "; its lane stands still for {head}");
    }
    if let Some(hold) = &detail.lane_hold {
        let who = readable::line(&hold.who, 80);
        let _ = write!(words, "; {who} parked its lane {}", when::both(hold.since, now));
    }
    words
}

fn attempts_made(record: &Record, now: Timestamp) -> String {
    let mut words = record.attempts.to_string();
    if let Some(last) = record.last_attempt_at {
        let _ = write!(words, ", the last {}", when::both(last, now));
    }
    match record.redrives {
        0 => {}
        1 => words.push_str("; redriven once"),
        times => {
            let _ = write!(words, "; redriven {times} times");
        }
    }
    words
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n              ")
}

fn fan_out(branches: &[Branch]) -> String {
    let mut table = table(["became number", "to", "status", "attempts", "last error"], 5);
    for branch in branches {
        let record = branch.record.as_ref();
        table.add_row([
            branch.number.to_string(),
            readable::line(&branch.destination, 40),
            record.map_or("forgotten".to_owned(), |record| record.status.to_string()),
            record.map_or(String::new(), |record| record.attempts.to_string()),
            record
                .and_then(|record| record.last_error.as_deref())
                .map_or(String::new(), |error| readable::line(error, 80)),
        ]);
    }
    table.trim_fmt()
}

fn attempts(attempts: &[AttemptRecord]) -> String {
    let mut table = table(
        ["life", "attempt", "failed at", "took", "kind", "error", "worker"],
        7,
    );
    for attempt in attempts {
        table.add_row([
            attempt.redrive.to_string(),
            attempt.attempt.to_string(),
            attempt.at.to_string(),
            attempt.took.map_or("-".to_owned(), readable::duration),
            attempt.class.clone(),
            readable::line(&attempt.error, 100),
            attempt.worker.clone(),
        ]);
    }
    table.trim_fmt()
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use redeliver_outbox::{DeadReason, MessageId, Payload, desk::AuditRecord};

    use super::*;

    pub(in crate::commands::outbox) const NOW: Timestamp = Timestamp::from_millis(100_000);

    const fn at(millis: i64) -> Option<Timestamp> {
        Some(Timestamp::from_millis(millis))
    }

    pub(in crate::commands::outbox) fn record(status: Status) -> Record {
        let live = matches!(
            status,
            Status::Pending | Status::Processing | Status::Failed | Status::Parked
        );
        let dead = matches!(status, Status::DeadLettered | Status::Discarded);
        let event = status == Status::FannedOut;
        let attempted = !matches!(status, Status::Pending | Status::Parked | Status::FannedOut);
        Record {
            id: MessageId::new(42, 7),
            status,
            shard: 3,
            destination: if event {
                String::new()
            } else {
                "billing".to_owned()
            },
            topic: event.then(|| "orders.paid".to_owned()),
            key: Some("order-7".to_owned()),
            attempts: if attempted { 3 } else { 0 },
            redrives: 0,
            created_at: Timestamp::from_millis(40_000),
            put_away: false,
            issue: None,
            next_attempt_at: if live { at(112_500) } else { None },
            last_attempt_at: if attempted { at(99_000) } else { None },
            last_error: attempted.then(|| "503 Service Unavailable".to_owned()),
            locked_by: None,
            locked_at: None,
            dead_letter_reason: dead.then_some(DeadReason::AttemptsExhausted),
            dead_lettered_at: if dead { at(99_500) } else { None },
            sent_at: if status == Status::Sent { at(99_000) } else { None },
            fanned_out_at: if event { at(99_000) } else { None },
            expires_at: None,
            content_type: None,
            headers: Some(r#"{"x-tenant":"acme"}"#.to_owned()),
            traceparent: None,
            payload: Some(Payload::from("{\"order\":7}")),
            hidden: None,
        }
    }

    pub(in crate::commands::outbox) fn detail(status: Status) -> Detail {
        Detail {
            record: record(status),
            attempts: Vec::new(),
            took: (status == Status::Sent).then_some(Duration::from_millis(42)),
            audit: Vec::new(),
            original_payload: None,
            gap: false,
            parked_behind: None,
            lane_hold: None,
            waits_behind: None,
            event: None,
            fan_out: Vec::new(),
        }
    }

    #[test]
    fn a_dead_letter_is_told_in_the_order_of_looking() {
        let mut detail = detail(Status::DeadLettered);
        detail.gap = true;
        detail.original_payload = Some(Payload::from("{oops\n}"));
        detail.attempts.push(AttemptRecord {
            redrive: 0,
            attempt: 1,
            at: Timestamp::from_millis(50_000),
            took: Some(Duration::from_millis(120)),
            class: "transient".to_owned(),
            error: "503 Service Unavailable".to_owned(),
            worker: "4711-0badcafe".to_owned(),
        });
        detail.audit.push(AuditRecord {
            number: 1,
            hash: None,
            at: Timestamp::from_millis(99_900),
            who: "alice".to_owned(),
            action: "edit".to_owned(),
            message: Some(MessageId::new(42, 7)),
            why: "the amount was missing".to_owned(),
            detail: String::new(),
        });
        insta::assert_snapshot!(words(&detail, None, NOW));
    }

    #[test]
    fn an_event_is_told_with_what_became_of_it() {
        let mut event = detail(Status::FannedOut);
        for (number, destination, known) in [(43, "audit", None), (44, "billing", Some(Status::DeadLettered))]
        {
            event.fan_out.push(Branch {
                destination: destination.to_owned(),
                number,
                record: known.map(record),
            });
        }
        let mut message = detail(Status::Pending);
        message.record.topic = Some("orders.paid".to_owned());
        message.event = Some(MessageId::new(41, 7));
        insta::assert_snapshot!(format!(
            "{}\n\n{}",
            words(&event, None, NOW),
            words(&message, None, NOW)
        ));
    }
}

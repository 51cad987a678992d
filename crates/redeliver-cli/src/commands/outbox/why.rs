//! `redeliver why`: where a message is, and what happens next, in one sentence.

use clap::Args;
use redeliver_outbox::{
    DeadReason, Timestamp,
    desk::{Detail, MessageRef, Record},
    destination::Routes,
    state::Status,
};
use serde_json::json;

use super::{
    database::{DatabaseFlags, Outbox},
    destination::{
        HoldForm,
        overview::{Obstacles, obstacles},
    },
    show::find,
    when::both,
};
use crate::{
    exit::{Exit, outbox_help},
    output, readable,
};

/// Why a message is where it is, and what happens next, in one sentence
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver why 42\n  redeliver why 00000000-0000-802a-9f86-d081884c7d65"))]
pub(crate) struct WhyArgs {
    /// Its id, or its number
    id: MessageRef,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &WhyArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let detail = find(outbox, args.id).await?;
    let routes = &outbox.settings.routes;
    let (record, now) = (&detail.record, Timestamp::wall());
    let Obstacles {
        hold,
        trouble,
        refused,
    } = obstacles(outbox.desk(), record, now).await?;
    let mut sentence = sentence(&detail, leads_somewhere(routes, record), trouble.as_deref(), now);
    sentence.push_str(&refused);
    match args.json {
        true => output::json(&json!({
            "id": record.id.to_string(),
            "status": record.status.as_str(),
            "next_attempt_at": record.next_attempt_at.map(|time| time.to_string()),
            "put_away": record.put_away,
            "hold": hold.as_ref().map(HoldForm::of),
            "why": sentence,
        })),
        false => output::line(&sentence),
    }
    Ok(Exit::Done)
}

/// Whether the configuration has the destination, or a route for the topic.
pub(crate) fn leads_somewhere(routes: &Routes, record: &Record) -> bool {
    match (&record.destination[..], &record.topic) {
        ("", topic) => routes.of_topic(topic.as_deref().unwrap_or_default()).is_some(),
        (destination, _) => routes.get(destination).is_some(),
    }
}

/// `known` says whether it leads somewhere; `trouble` what is the matter with the destination.
pub(crate) fn sentence(detail: &Detail, known: bool, trouble: Option<&str>, now: Timestamp) -> String {
    let record = &detail.record;
    let id = record.id;
    let to = readable::line(&record.destination, 80);
    match record.status {
        Status::Sent => {
            let when = record
                .sent_at
                .map_or("some time ago".to_owned(), |time| both(time, now));
            format!(
                "Message {id} arrived at {to} {when}, on attempt {}; nothing more happens to it.",
                record.attempts
            )
        }
        Status::DeadLettered => quarantined(detail, now),
        Status::Discarded => given_up(detail, now),
        Status::Parked if detail.lane_hold.is_some() => parked_by_hand(detail, now),
        Status::Parked => {
            let head = detail
                .parked_behind
                .map_or("its lane's head".to_owned(), |head| head.to_string());
            format!(
                "Message {id} stands still because {head}, before it in the lane {}, is a dead letter; it goes on once that one is \
                 redriven or discarded (`redeliver dead show {head}`).",
                lane(record)
            )
        }
        Status::FannedOut => fanned_out(detail, now),
        Status::Pending | Status::Processing | Status::Failed if record.destination.is_empty() => {
            event(detail, known, now)
        }
        Status::Pending | Status::Processing | Status::Failed => live(detail, known, trouble, now),
    }
}

fn parked_by_hand(detail: &Detail, now: Timestamp) -> String {
    let (id, lane) = (detail.record.id, lane(&detail.record));
    let Some(hold) = &detail.lane_hold else {
        return format!("Message {id} stands still with its lane {lane}.");
    };
    let (who, why) = (readable::line(&hold.who, 80), readable::line(&hold.why, 200));
    let why = if why.is_empty() {
        why
    } else {
        format!(" (\"{why}\")")
    };
    format!(
        "Message {id} stands still because {who} parked its lane {lane} {}{why}; it goes on once somebody lets the lane go on \
         (`redeliver lane resume {} {}`).",
        both(hold.since, now),
        readable::line(&hold.lane.destination, 80),
        readable::line(&hold.lane.key, 80),
    )
}

fn fanned_out(detail: &Detail, now: Timestamp) -> String {
    let record = &detail.record;
    let when = record
        .fanned_out_at
        .map_or(String::new(), |time| format!(" {}", both(time, now)));
    let topic = readable::line(record.topic.as_deref().unwrap_or_default(), 80);
    let (id, number) = (record.id, record.id.number());
    if detail.fan_out.is_empty() {
        return format!(
            "Event {id} on {topic} became no message{when}, because its routes lead to nobody; it is kept in the history."
        );
    }
    let became: Vec<String> = detail
        .fan_out
        .iter()
        .map(|branch| format!("{} to {}", branch.number, readable::line(&branch.destination, 40)))
        .collect();
    format!(
        "Event {id} on {topic} became the messages {}{when}; `redeliver show {number}` tells where each of them is.",
        became.join(", ")
    )
}

/// An event that is still to become messages.
fn event(detail: &Detail, known: bool, now: Timestamp) -> String {
    let record = &detail.record;
    let topic = readable::line(record.topic.as_deref().unwrap_or_default(), 80);
    let mut sentence = format!(
        "Event {} on {topic} was inserted {}",
        record.id,
        both(record.created_at, now)
    );
    match (detail.waits_behind, record.next_attempt_at, &record.locked_by) {
        (Some(before), ..) => sentence.push_str(&format!(
            "; it waits for the event {before}, which is before it with the same key (`redeliver why {before}`)"
        )),
        (_, Some(time), _) if time > now => {
            sentence.push_str(&format!("; it fans out {}", both(time, now)));
        }
        (_, _, Some(worker)) => sentence.push_str(&format!(
            "; the worker {} fans it out now or in its turn",
            readable::line(worker, 80)
        )),
        _ => sentence.push_str("; it is to fan out, and no relay owns its shard: start `redeliver serve`"),
    }
    if !known {
        sentence.push_str("; this configuration has no route for its topic, so a relay with it would quarantine the event as no_route");
    }
    sentence.push('.');
    sentence
}

fn live(detail: &Detail, known: bool, trouble: Option<&str>, now: Timestamp) -> String {
    let record = &detail.record;
    let mut sentence = format!("Message {} {}", record.id, so_far(record, now));
    if let Some(before) = detail.waits_behind {
        sentence.push_str(&format!(
            "; it waits for {before}, which is before it in the lane {} (`redeliver why {before}`)",
            lane(record)
        ));
    } else {
        sentence.push_str(&next(record, known, trouble, now));
    }
    if let Some(trouble) = trouble {
        sentence.push_str(&format!("; its destination is {trouble}"));
    }
    if !known {
        sentence.push_str(&format!(
            "; this configuration has no destination {}, so a relay with it would quarantine the message as unknown_destination",
            readable::line(&record.destination, 80)
        ));
    }
    if let Some(expiry) = record.expires_at {
        sentence.push_str(&format!("; it is too late for it {}", both(expiry, now)));
    }
    sentence.push('.');
    sentence
}

fn so_far(record: &Record, now: Timestamp) -> String {
    match (record.attempts, record.last_attempt_at) {
        (0, _) => format!(
            "was inserted {} and has not been attempted",
            both(record.created_at, now)
        ),
        (attempts, last) => {
            let when = last.map_or(String::new(), |time| format!(", {},", both(time, now)));
            match record.last_error.as_deref().filter(|error| !error.is_empty()) {
                Some(error) => format!(
                    "failed at attempt {attempts}{when} with \"{}\"",
                    readable::line(error, 200)
                ),
                // Counted before it was sent again, after a crash; what became of it nobody wrote down.
                None => format!(
                    "was interrupted at attempt {attempts}{when} so that nobody knows whether it arrived"
                ),
            }
        }
    }
}

fn next(record: &Record, known: bool, trouble: Option<&str>, now: Timestamp) -> String {
    let attempt = record.attempts.saturating_add(1);
    match (record.next_attempt_at, &record.locked_by) {
        (Some(time), _) if time > now => format!("; attempt {attempt} is due {}", both(time, now)),
        (_, _) if trouble.is_some() => format!("; attempt {attempt} is due"),
        _ if record.put_away && !known => {
            format!("; attempt {attempt} was put away while its destination took nothing")
        }
        _ if record.put_away => format!(
            "; attempt {attempt} was put away while its destination took nothing, and is made in its turn by a relay: `redeliver serve`"
        ),
        (_, Some(worker)) => format!(
            "; attempt {attempt} is due, and the worker {} makes it now or in its turn",
            readable::line(worker, 80)
        ),
        (_, None) => {
            format!("; attempt {attempt} is due, and no relay owns its shard: start `redeliver serve`")
        }
    }
}

fn quarantined(detail: &Detail, now: Timestamp) -> String {
    let record = &detail.record;
    let when = record
        .dead_lettered_at
        .map_or(String::new(), |time| format!(" {}", both(time, now)));
    let why = record.dead_letter_reason.map_or("", explained);
    let error = record.last_error.as_deref().unwrap_or_default();
    let gap = if detail.gap {
        ", its lane has gone on without it"
    } else {
        ""
    };
    let (id, number) = (record.id, record.id.number());
    format!(
        "Message {id} was quarantined{when} because {why} (\"{}\"){gap}; it stays until somebody acts: `redeliver dead edit {number}`, \
         `redeliver dead redrive {number}` or `redeliver dead discard {number}`.",
        readable::line(error, 200)
    )
}

const fn explained(reason: DeadReason) -> &'static str {
    match reason {
        DeadReason::Permanent => "its destination refused it for good",
        DeadReason::AttemptsExhausted => "it failed as often as its policy allows",
        DeadReason::Expired => "it grew older than it may",
        DeadReason::InvalidPayload => "its payload is not what its content type says",
        DeadReason::SchemaViolation => "its payload breaks the destination's schema",
        DeadReason::TooLarge => "its payload is larger than the destination takes",
        DeadReason::InvalidHeaders => "its headers cannot be sent",
        DeadReason::InvalidKey => "its key is longer than a key may be",
        DeadReason::UnknownDestination => "no destination has this name",
        DeadReason::NoRoute => "no route leads anywhere from its topic",
        DeadReason::UnknownOutcome => "it may have arrived, and may not be sent twice",
        DeadReason::RetryAfter => "its destination asked for a longer wait than the policy allows",
        DeadReason::LaneSkipped => "it failed at the head of a lane that does not wait",
        _ => "of the reason that `redeliver show` names",
    }
}

fn given_up(detail: &Detail, now: Timestamp) -> String {
    let id = detail.record.id;
    let act = detail.audit.iter().rev().find(|act| act.action == "discard");
    match act {
        Some(act) => format!(
            "Message {id} was given up by {} {}: \"{}\"; nothing more happens to it.",
            readable::line(&act.who, 80),
            both(act.at, now),
            readable::line(&act.why, 200)
        ),
        None => format!("Message {id} was given up by an operator; nothing more happens to it."),
    }
}

fn lane(record: &Record) -> String {
    let key = record.key.as_deref().unwrap_or_default();
    format!(
        "{} / {}",
        readable::line(&record.destination, 80),
        readable::line(key, 80)
    )
}

#[cfg(test)]
mod tests {
    use redeliver_outbox::{
        MessageId,
        desk::{AuditRecord, LaneHold},
        store::LaneId,
    };

    use super::{
        super::show::tests::{NOW, detail},
        *,
    };

    #[test]
    fn every_status_has_its_sentence() {
        let mut sentences: Vec<String> = Status::ALL
            .into_iter()
            .map(|status| {
                let mut detail = detail(status);
                if status == Status::Parked {
                    detail.parked_behind = Some(MessageId::new(41, 1));
                }
                if status == Status::Processing {
                    detail.record.next_attempt_at = None;
                    detail.record.locked_by = Some("4711-0badcafe".to_owned());
                }
                format!("{status}: {}", sentence(&detail, true, None, NOW))
            })
            .collect();
        let mut by_hand = detail(Status::Parked);
        by_hand.lane_hold = Some(LaneHold {
            lane: LaneId {
                destination: "billing".to_owned(),
                key: "customer-7".to_owned(),
            },
            who: "ana".to_owned(),
            why: "their shop is being moved".to_owned(),
            since: Timestamp::from_millis(40_000),
        });
        sentences.push(format!("by hand: {}", sentence(&by_hand, true, None, NOW)));
        let mut behind = detail(Status::Pending);
        behind.waits_behind = Some(MessageId::new(40, 1));
        behind.record.expires_at = Some(Timestamp::from_millis(400_000));
        sentences.push(format!("behind: {}", sentence(&behind, true, None, NOW)));
        let mut orphan = detail(Status::Pending);
        orphan.record.next_attempt_at = None;
        sentences.push(format!("orphan: {}", sentence(&orphan, false, None, NOW)));
        let trouble = "paused since 1970-01-01T00:00:40.000Z (1m ago) by ana: the receiver is being moved; `redeliver destination resume billing` lets it go on";
        let mut away = detail(Status::Failed);
        away.record.next_attempt_at = None;
        away.record.put_away = true;
        sentences.push(format!("held: {}", sentence(&away, true, Some(trouble), NOW)));
        sentences.push(format!("put away: {}", sentence(&away, true, None, NOW)));
        sentences.push(format!("put away orphan: {}", sentence(&away, false, None, NOW)));
        let later = detail(Status::Failed);
        sentences.push(format!(
            "held, later: {}",
            sentence(&later, true, Some(trouble), NOW)
        ));
        let mut event = detail(Status::Pending);
        event.record.destination = String::new();
        event.record.topic = Some("orders.paid".to_owned());
        sentences.push(format!("event: {}", sentence(&event, true, None, NOW)));
        event.record.next_attempt_at = None;
        sentences.push(format!("no route: {}", sentence(&event, false, None, NOW)));
        let mut interrupted = detail(Status::Failed);
        interrupted.record.last_error = None;
        let told = sentence(&interrupted, true, None, NOW);
        interrupted.record.last_error = Some(String::new());
        assert_eq!(sentence(&interrupted, true, None, NOW), told);
        sentences.push(format!("interrupted: {told}"));
        let mut discarded = detail(Status::Discarded);
        discarded.audit.push(AuditRecord {
            number: 1,
            hash: None,
            at: NOW,
            who: "alice".to_owned(),
            action: "discard".to_owned(),
            message: None,
            why: "a test order".to_owned(),
            detail: String::new(),
        });
        sentences.push(format!("by whom: {}", sentence(&discarded, true, None, NOW)));
        insta::assert_snapshot!(sentences.join("\n"));
    }
}

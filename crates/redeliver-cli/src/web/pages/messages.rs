//! Messages: search and filters in the address, the newest first.

use std::{str::FromStr, sync::Arc, time::Duration};

use askama::Template;
use axum::{
    extract::State,
    response::{IntoResponse as _, Redirect},
};
use redeliver_outbox::{
    DeadReason, Timestamp,
    desk::{MessageRef, Page, Record, Searched},
    state::Status,
};

use super::{
    fields::Fields,
    frame::{Answered, Frame, MESSAGES, Visitor, page as answer},
    looking::{Before, Looking},
    message,
    narrowing::Narrowing,
    words::{Chip, When},
};
use crate::{readable, web::site::Site};

/// How many stand on a page.
pub(super) const PAGE: usize = 50;

/// How long a search may take before it says how far it came: the page goes on from there by itself, piece by piece.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

/// One message, as a row.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) number: i64,
    pub(super) id: String,
    pub(super) href: String,
    pub(super) chip: Chip,
    pub(super) dead: bool,
    pub(super) destination: String,
    pub(super) topic: String,
    pub(super) key: String,
    pub(super) attempts: u32,
    pub(super) created: When,
    /// What comes next, or when it ended.
    pub(super) then: Option<(&'static str, When)>,
    pub(super) reason: &'static str,
    pub(super) error: String,
}

impl Row {
    pub(super) fn of(record: &Record, now: Timestamp) -> Self {
        let text = |text: &Option<String>| {
            text.as_deref()
                .map_or(String::new(), |text| readable::line(text, 80))
        };
        let when = |time: Option<Timestamp>| time.map(|time| When::of(time, now));
        let then = match record.status {
            Status::Sent => when(record.sent_at).map(|time| ("sent", time)),
            Status::FannedOut => when(record.fanned_out_at).map(|time| ("fanned out", time)),
            Status::DeadLettered | Status::Discarded => {
                when(record.dead_lettered_at).map(|time| ("died", time))
            }
            _ => when(record.next_attempt_at).map(|time| ("due", time)),
        };
        Self {
            number: record.id.number(),
            id: record.id.to_string(),
            href: message::address(record.id),
            chip: Chip::of(record.status),
            dead: record.status == Status::DeadLettered,
            destination: match record.destination.as_str() {
                "" => "(event)".to_owned(),
                name => readable::line(name, 60),
            },
            topic: text(&record.topic),
            key: text(&record.key),
            attempts: record.attempts,
            created: When::of(record.created_at, now),
            then,
            reason: record.dead_letter_reason.map_or("", DeadReason::as_str),
            error: record
                .last_error
                .as_deref()
                .map_or(String::new(), |error| readable::line(error, 160)),
        }
    }
}

/// A choice of a field.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) words: String,
    pub(super) chosen: bool,
}

#[derive(Debug, Template)]
#[template(path = "messages.html", blocks = ["live"])]
struct Messages {
    frame: Frame,
    narrowing: Narrowing,
    search: String,
    statuses: Vec<Choice>,
    destinations: Vec<Choice>,
    reasons: Vec<Choice>,
    chosen: Vec<(String, String)>,
    rows: Vec<Row>,
    /// Where older ones are.
    older: Option<String>,
    newest: Option<String>,
    looking: Option<Looking>,
    /// Whether what is shown can be redriven and the like.
    workable: bool,
    /// Whether what all of them have in common is left out.
    slim: bool,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor, query: Fields) -> Answered {
    let search = query.get("q").unwrap_or_default();
    // Somebody who knows the id wants the message, not a list of one.
    if let Ok(message) = search.parse::<MessageRef>()
        && let Some(found) = site.desk.find(message).await?
    {
        return Ok(Redirect::to(&message::address(found.record.id)).into_response());
    }
    let narrowing = Narrowing::of(&query);
    let after = number(&query, "after");
    let searched = site
        .desk
        .search(&narrowing.filter, look(after, PAGE), PATIENCE)
        .await?;
    let looking = Looking::of(&narrowing, &searched, Before::default());
    let messages = Messages {
        frame: Frame::new("Messages", MESSAGES, &site, &visitor),
        search: readable::line(search, 200),
        statuses: statuses(&narrowing),
        destinations: destinations(&site, narrowing.value("to")),
        reasons: reasons(narrowing.value("reason")),
        chosen: narrowing.chosen("/messages"),
        older: searched
            .next
            .filter(|_| looking.is_none())
            .map(|next| narrowing.further("/messages", next)),
        looking,
        newest: after.map(|_| narrowing.address("/messages")),
        workable: narrowing.only_dead(),
        slim: false,
        narrowing,
        rows: rows(&searched),
    };
    Ok(answer(&visitor, &messages, &messages.as_live()))
}

pub(super) fn number<T: FromStr>(query: &Fields, name: &str) -> Option<T> {
    query.get(name)?.parse().ok()
}

pub(super) const fn look(after: Option<i64>, limit: usize) -> Page {
    Page {
        after,
        limit,
        newest_first: true,
        until: None,
    }
}

pub(super) fn rows(searched: &Searched) -> Vec<Row> {
    let now = Timestamp::wall();
    searched
        .records
        .iter()
        .map(|record| Row::of(record, now))
        .collect()
}

fn statuses(narrowing: &Narrowing) -> Vec<Choice> {
    Status::ALL
        .into_iter()
        .map(|status| Choice {
            value: status.as_str().to_owned(),
            words: status.as_str().replace('_', " "),
            chosen: narrowing.filter.statuses.contains(&status),
        })
        .collect()
}

/// Every destination that is known, and the one that is asked for.
pub(super) fn destinations(site: &Site, chosen: &str) -> Vec<Choice> {
    let mut names: std::collections::BTreeSet<String> = site
        .about
        .routes
        .iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    if let Some(status) = site.last_status() {
        names.extend(status.value.destinations.keys().take(500).cloned());
    }
    if !chosen.is_empty() {
        names.insert(chosen.to_owned());
    }
    names
        .into_iter()
        .map(|name| Choice {
            words: readable::line(&name, 60),
            chosen: name == chosen,
            value: name,
        })
        .collect()
}

fn reasons(chosen: &str) -> Vec<Choice> {
    DeadReason::ALL
        .iter()
        .map(|reason| Choice {
            value: reason.as_str().to_owned(),
            words: reason.as_str().replace('_', " "),
            chosen: reason.as_str() == chosen,
        })
        .collect()
}

//! Events: messages that are not sent, but become a message for each destination of their topic.

use futures_core::future::BoxFuture;

use crate::{
    DeadReason, Message,
    destination::{Delivery, Destination, Outcome, Route, Routes},
    limits,
    store::{AfterDeath, Verdict},
};

/// The name under which events have their place in the window.
const EVENTS: &str = "";

/// The routes with a place for events among them, so that neither they nor the messages fill the window. Where no topic leads anywhere
/// they have none: they are dead letters as soon as they are read.
pub(super) fn with_events(routes: &Routes) -> Routes {
    if !routes.has_topics() {
        return routes.clone();
    }
    let place = Route {
        // Its share of the window is one in so many, however few attempts a destination is allowed at a time.
        concurrency: 1,
        ..Route::to(Unsent)
    };
    routes.clone().with(EVENTS, place)
}

/// What becomes of an event. Its deadlines are those of the messages that are made of it.
pub(super) fn verdict(event: &Message, routes: &Routes) -> Verdict {
    if let Some(size) = event.withheld {
        return too_large(event, size);
    }
    let topic = event.topic.as_deref().unwrap_or_default();
    match routes.of_topic(topic) {
        Some(destinations) => Verdict::FannedOut { destinations },
        None => no_route(event),
    }
}

/// The dead letter of an event that goes nowhere.
pub(super) fn no_route(event: &Message) -> Verdict {
    let topic: String = event
        .topic
        .as_deref()
        .unwrap_or_default()
        .chars()
        .take(64)
        .collect();
    let error = format!(
        "no route leads from the topic {topic:?}; add one to [routes], an empty list if it is for nobody, and redrive the event"
    );
    dead(event, DeadReason::NoRoute, &error)
}

/// The dead letter of an event that no destination would take: one, and not one for each.
fn too_large(event: &Message, size: u64) -> Verdict {
    let error = format!("the event has {size} bytes; no destination takes payloads of that size");
    dead(event, DeadReason::TooLarge, &error)
}

fn dead(event: &Message, reason: DeadReason, error: &str) -> Verdict {
    Verdict::Dead {
        attempted: None,
        reason,
        error: limits::error_text(error),
        lane: match event.key {
            Some(_) => AfterDeath::Gap,
            None => AfterDeath::None,
        },
    }
}

/// Where events would be sent if they were: the window knows only destinations.
#[derive(Debug)]
struct Unsent;

impl Destination for Unsent {
    fn deliver<'a>(&'a self, _: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        let reason = "an event is not sent itself".to_owned();
        Box::pin(std::future::ready(Outcome::Reject {
            kind: DeadReason::NoRoute,
            reason,
        }))
    }

    fn kind(&self) -> &'static str {
        "events"
    }
}

//! Lanes that stand or wait: what for, how long, and how much is behind.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use redeliver_outbox::{
    DeadReason, MessageId, NoMessageId, Timestamp,
    desk::{Depth, SeenLane, Standing, StandingLane},
    store::LaneId,
};

use super::{
    acting::Acting,
    address,
    done::Done,
    frame::{Answered, Frame, LANES, Visitor, page as answer},
    message,
    words::{Chip, When, freshness, grouped},
};
use crate::{
    readable,
    web::{
        problem::Problem,
        site::{LANES_SHOWN, Site},
    },
};

/// One lane.
#[derive(Debug)]
struct Row {
    key: String,
    href: String,
    destination: String,
    chip: Chip,
    head: Option<(i64, String)>,
    depth: String,
    since: When,
    next: Option<When>,
    attempts: Option<u32>,
    why: String,
    /// What letting it go on does.
    resuming: String,
    /// The dead letter that it would go on without, for the form; empty if there is none.
    without: String,
    /// The lane exactly, for the form that lets it go on.
    lane: LaneId,
}

#[derive(Debug, Template)]
#[template(path = "lanes.html", blocks = ["live"])]
struct Lanes {
    frame: Frame,
    counting: bool,
    freshness: String,
    parked: Vec<Row>,
    blocked: Vec<Row>,
    /// Whether there may be more that are parked.
    more_parked: bool,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let counted = site.lanes().await?;
    let lanes: &[StandingLane] = counted.as_ref().map_or(&[], |lanes| &lanes.value);
    let now = Timestamp::wall();
    let (parked, blocked): (Vec<&StandingLane>, Vec<&StandingLane>) = lanes
        .iter()
        .partition(|lane| !matches!(lane.standing, Standing::Blocked { .. }));
    let rows = |lanes: Vec<&StandingLane>| lanes.into_iter().map(|lane| row(lane, now)).collect();
    let page = Lanes {
        frame: Frame::new("Lanes", LANES, &site, &visitor),
        counting: counted.is_none(),
        freshness: counted.as_ref().map_or(String::new(), freshness),
        more_parked: parked.len() >= LANES_SHOWN,
        parked: rows(parked),
        blocked: rows(blocked),
    };
    Ok(answer(&visitor, &page, &page.as_live()))
}

fn row(lane: &StandingLane, now: Timestamp) -> Row {
    let when = |time| When::of(time, now);
    let (chip, since, next, attempts, why) = match &lane.standing {
        Standing::Parked { reason, since } => (
            Chip::new("held", "‖", "parked"),
            when(*since),
            None,
            None,
            reason
                .map_or("being tried again", DeadReason::as_str)
                .replace('_', " "),
        ),
        Standing::Held { who, why, since } => (
            Chip::new("held", "‖", "parked by hand"),
            when(*since),
            None,
            None,
            by_hand(who, why),
        ),
        Standing::Blocked {
            attempts,
            next_attempt_at,
            error,
            oldest,
        } => (
            Chip::new("warn", "↻", "blocked"),
            when(*oldest),
            Some(when(*next_attempt_at)),
            Some(*attempts),
            readable::line(error, 160),
        ),
    };
    let id = &lane.lane;
    Row {
        key: readable::line(&id.key, 80),
        href: address::messages(&[("to", &id.destination), ("key", &id.key)]),
        destination: readable::line(&id.destination, 60),
        chip,
        head: lane.head.map(|head| (head.number(), message::address(head))),
        depth: depth(lane.depth),
        since,
        next,
        attempts,
        why,
        resuming: resuming(without(lane)),
        without: without(lane).map_or(String::new(), |id| id.to_string()),
        lane: id.clone(),
    }
}

/// The dead letter that a lane goes on without, if it is let go on now.
fn without(lane: &StandingLane) -> Option<MessageId> {
    match lane.standing {
        Standing::Parked { reason: Some(_), .. } | Standing::Held { .. } => lane.head,
        _ => None,
    }
}

/// A gap in the order is for a person to decide on, who has to know of it.
fn resuming(without: Option<MessageId>) -> String {
    match without {
        Some(head) => format!(
            "What is behind message {} goes out without it: that one stays a dead letter, and the gap in the order is recorded. To keep the \
             order, redrive it first.",
            head.number()
        ),
        None => "What waits goes out, one at a time, in order.".to_owned(),
    }
}

pub(super) async fn park(State(site): State<Arc<Site>>, acting: Acting) -> Answered {
    let parked = site.desk.park_lane(&named(&acting)?, &acting.act()).await?;
    let done = if parked.new {
        Done::LaneParked
    } else {
        Done::LaneParkedBefore
    };
    Ok(acting.went(&done.at("/lanes", 1)))
}

pub(super) async fn resume(State(site): State<Arc<Site>>, acting: Acting) -> Answered {
    let (lane, seen) = (named(&acting)?, seen(&acting)?);
    let ended = site.desk.resume_lane(&lane, Some(seen), &acting.act()).await?;
    let (done, number) = match ended.map(|ended| ended.without) {
        Some(Some(without)) => (Done::LaneResumedWithout, without.number().unsigned_abs()),
        Some(None) => (Done::LaneResumed, 1),
        None => (Done::LaneNotParked, 1),
    };
    Ok(acting.went(&done.at("/lanes", number)))
}

/// The lane that a form names, its key to the last blank.
fn named(acting: &Acting) -> Result<LaneId, Problem> {
    let field = |name| acting.fields.exact(name).unwrap_or_default().to_owned();
    let lane = LaneId {
        destination: field("destination"),
        key: field("key"),
    };
    if lane.destination.is_empty() || lane.key.is_empty() {
        let what = "a lane is a destination and a key: go back and give both";
        return Err(Problem::bad_request(what));
    }
    Ok(lane)
}

/// What the form shows that the lane goes on without.
fn seen(acting: &Acting) -> Result<SeenLane, Problem> {
    let without = acting.fields.get("without").map(str::parse).transpose();
    let without = without.map_err(|error: NoMessageId| Problem::bad_request(error.to_string()))?;
    Ok(SeenLane { without })
}

fn by_hand(who: &str, why: &str) -> String {
    let who = readable::line(who, 60);
    match readable::line(why, 160) {
        why if why.is_empty() => who,
        why => format!("{who}: {why}"),
    }
}

fn depth(depth: Depth) -> String {
    let messages = grouped(depth.messages);
    if depth.or_more {
        format!("{messages}+")
    } else {
        messages
    }
}

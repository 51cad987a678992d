//! Reading the large messages that there is room for, and leaving the others for the next read.

use std::collections::{BTreeMap, BTreeSet};

use super::{Fresh, messages};
use crate::{
    Message,
    store::{
        Demand, LaneFound, Result,
        mysql::{Work, row},
        weigh::{self, Key, Room},
    },
};

/// Weighs what the lanes have.
pub(super) async fn lanes(work: &mut Work<'_>, demand: &Demand, lanes: &mut [LaneFound]) -> Result<()> {
    let (mut part, mut one, mut chosen) = (Room::of(demand.bytes).part(4), true, Vec::new());
    for lane in &mut *lanes {
        let (some, cut) = part.choose(&mut lane.messages, one);
        lane.complete &= !cut;
        one &= lane.messages.is_empty();
        chosen.extend(some);
    }
    let full = named(work, demand, &chosen).await?;
    weigh::fill(lanes.iter_mut().flat_map(|lane| &mut lane.messages), full);
    Ok(())
}

/// Weighs what was never scheduled. What is late comes before what is ahead: one that there is no room for keeps all others waiting.
pub(super) async fn fresh(work: &mut Work<'_>, demand: &Demand, fresh: &mut Fresh) -> Result<()> {
    if fresh
        .messages
        .iter()
        .all(|(message, _)| message.withheld.is_none())
    {
        return Ok(());
    }
    let above: BTreeMap<u16, i64> = fresh
        .passed
        .iter()
        .map(|range| (range.shard, range.above))
        .collect();
    let is_ahead = |message: &Message| {
        above
            .get(&message.shard)
            .is_some_and(|&above| message.number() > above)
    };
    let all = std::mem::take(&mut fresh.messages).into_iter();
    let (mut ahead, mut late): (Vec<Message>, Vec<Message>) =
        all.map(|(message, _)| message).partition(is_ahead);
    let mut part = Room::of(demand.bytes).part(2);
    let (mut chosen, late_cut) = part.choose(&mut late, true);
    if late_cut {
        ahead.clear();
        fresh.looked = false;
    }
    let (some, cut) = part.choose(&mut ahead, late.is_empty());
    chosen.extend(some);
    if late_cut || cut {
        fresh.more = true;
        stop_at(fresh, &ahead);
    }
    late.extend(ahead);
    weigh::fill(late.iter_mut(), named(work, demand, &chosen).await?);
    late.sort_by_key(|message| (message.shard, message.number()));
    fresh.messages = late.into_iter().map(|message| (message, None)).collect();
    Ok(())
}

/// Passes only what is left of the messages ahead.
fn stop_at(fresh: &mut Fresh, ahead: &[Message]) {
    let mut open = BTreeSet::new();
    for range in &mut fresh.passed {
        let of_shard = ahead.iter().filter(|message| message.shard == range.shard);
        let last = of_shard.map(Message::number).max().unwrap_or(range.above);
        if last < range.to {
            open.insert(range.shard);
        }
        range.to = last;
    }
    fresh.passed.retain(|range| range.to > range.above);
    if !fresh.looked {
        fresh.caught_up.clear();
    }
    fresh.caught_up.retain(|shard| !open.contains(shard));
}

/// Weighs what is due, and says whether something was cut off.
pub(super) async fn due(work: &mut Work<'_>, demand: &Demand, due: &mut Vec<Message>) -> Result<bool> {
    let (chosen, cut) = Room::of(demand.bytes).part(4).choose(due, true);
    weigh::fill(due.iter_mut(), named(work, demand, &chosen).await?);
    Ok(cut)
}

/// These messages, as far as they are not too large to be read at all.
async fn named(work: &mut Work<'_>, demand: &Demand, rows: &[Key]) -> Result<Vec<Message>> {
    let mut found = Vec::new();
    for some in rows.chunks(256) {
        let numbers: Vec<i64> = some.iter().map(|&(_, number)| number).collect();
        let sql = include_str!("../sql/read_named.sql").replace("{numbers}", &row::places(numbers.len()));
        let read = messages(work, &sql, demand.bytes.largest, row::padded(&numbers)).await?;
        found.extend(read.into_iter().map(|(message, _)| message));
    }
    Ok(found)
}

//! How long the messages of a killed relay wait for another.

use std::collections::HashMap;

use super::{Arrival, DisturbanceKind, History, Micros, RelayRun};

/// For each kill after which a message of the killed relay's shards could be sent, how long the slowest of these shards waited from
/// the kill, or from the commit of its next message, to its next arrival.
#[must_use]
pub fn recoveries(history: &History) -> Vec<Micros> {
    let mut begins: Vec<Micros> = history.disturbances.iter().map(|each| each.from).collect();
    begins.sort_unstable();
    let kills = history
        .disturbances
        .iter()
        .filter(|each| each.kind == DisturbanceKind::Kill);
    kills
        .filter_map(|kill| {
            let next = begins.iter().find(|&&from| from > kill.from);
            recovery(
                history,
                kill.relay?,
                kill.from,
                next.copied().unwrap_or(Micros::MAX),
            )
        })
        .collect()
}

fn recovery(history: &History, killed: RelayRun, at: Micros, until: Micros) -> Option<Micros> {
    let before = history.arrivals.partition_point(|arrival| arrival.at < at);
    let mut owners: HashMap<u16, RelayRun> = HashMap::new();
    for arrival in &history.arrivals[..before] {
        if let Some(shard) = shard_of(history, arrival) {
            owners.insert(shard, arrival.relay);
        }
    }
    let mut waits: HashMap<u16, Micros> = HashMap::new();
    for arrival in &history.arrivals[before..] {
        if arrival.at >= until {
            break;
        }
        let Some(shard) = shard_of(history, arrival) else {
            continue;
        };
        if arrival.relay == killed || owners.get(&shard) != Some(&killed) {
            continue;
        }
        let committed = history.messages[&arrival.ticket].ended_at;
        waits
            .entry(shard)
            .or_insert_with(|| arrival.at.saturating_sub(committed.max(at)));
    }
    waits.into_values().max()
}

fn shard_of(history: &History, arrival: &Arrival) -> Option<u16> {
    history.messages.get(&arrival.ticket)?.shard
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{
        Disturbance,
        checks::example::{LEASE, again, sent},
    };

    fn killed(at: Micros) -> Disturbance {
        Disturbance {
            kind: DisturbanceKind::Kill,
            relay: Some(1),
            from: at,
            until: Micros::MAX,
        }
    }

    #[test]
    fn the_wait_is_counted_from_the_kill_or_from_the_commit() {
        let mut history = sent(1);
        history.disturbances.push(killed(5_000));
        assert!(recoveries(&history).is_empty(), "nobody has come yet");
        again(&mut history, 2, LEASE);
        assert_eq!(recoveries(&history), [LEASE - 5_000]);
        history.messages.get_mut(&1).unwrap().ended_at = LEASE - 10;
        assert_eq!(recoveries(&history), [10]);
    }

    #[test]
    fn what_comes_after_the_next_disturbance_tells_nothing_of_this_one() {
        let mut history = sent(1);
        history.disturbances.extend([killed(5_000), killed(6_000)]);
        history.disturbances[1].relay = Some(9);
        again(&mut history, 2, LEASE);
        assert!(recoveries(&history).is_empty());
    }

    #[test]
    fn the_slowest_shard_counts_and_another_relay_s_do_not() {
        let mut history = sent(3);
        for (ticket, message) in &mut history.messages {
            message.shard = u16::try_from(*ticket).ok();
        }
        history.arrivals[2].relay = 2;
        history.disturbances.push(killed(5_000));
        for (index, at) in [(0, 20_000), (1, 90_000), (2, 500_000)] {
            let arrival = Arrival {
                relay: 2,
                at,
                ..history.arrivals[index].clone()
            };
            history.arrivals.push(arrival);
        }
        assert_eq!(recoveries(&history), [85_000]);
    }
}

//! The destinations from the window's side: who is ready, who is on the way, who has taken all there is room for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::manners::Allowance;
use crate::{
    destination::Routes,
    plants::{Plant, planted},
    store::LaneDemand,
};

/// Messages of one destination in one shard that have no key, as far as they were let go for want of room.
#[derive(Debug, Default)]
pub(super) struct Track {
    spilled_from: Option<i64>,
    reading: Option<i64>,
}

impl Track {
    /// Whether a message is taken in; if not it is let go and read again later.
    pub(super) fn takes(&mut self, number: i64, room: bool) -> bool {
        let beyond = self.spilled_from.is_some_and(|from| number >= from);
        if !room || beyond {
            self.spill(number);
        }
        room && !beyond
    }

    pub(super) fn spill(&mut self, number: i64) {
        self.spilled_from = Some(self.spilled_from.map_or(number, |from| from.min(number)));
    }

    /// Whether a message is among those that were let go, or that the read under way brings.
    pub(super) fn has_spilled(&self, number: i64) -> bool {
        let begins = [self.spilled_from, self.reading];
        begins.into_iter().flatten().any(|from| from <= number)
    }

    pub(super) fn end_read(&mut self, next: Option<i64>) {
        self.reading = None;
        if let Some(next) = next {
            self.spill(next);
        }
    }

    pub(super) fn forget_read(&mut self) {
        if let Some(from) = self.reading.take() {
            self.spill(from);
        }
    }
}

/// So many messages of a destination that is down are kept in memory, to try it with.
const KEPT_TO_PROBE: usize = 2;

#[derive(Debug)]
struct Line {
    name: String,
    ready: VecDeque<i64>,
    /// Those that have been attempted before.
    retries: VecDeque<i64>,
    held: usize,
    /// What those weigh.
    weight: usize,
    in_flight: usize,
    allowance: Allowance,
    /// So many could begin when that was asked.
    allowed: usize,
    /// Something of it was put away that can come back.
    away: bool,
    /// So many were brought back, for which there was room then.
    expected: usize,
    /// Each attempt is counted before the send: what may have arrived must not arrive twice.
    counts_first: bool,
    /// Messages whose attempt is being counted, or is counted, and has not begun; only where each is counted.
    counted: BTreeSet<i64>,
    /// The most messages that may be held for it, so that one slow destination does not fill the window.
    share: usize,
    /// So many of them have their place whatever the others hold.
    assured: usize,
    /// The most that they may weigh, for the same reason; one message fits always.
    share_of_bytes: usize,
}

impl Line {
    const fn has_room(&self) -> bool {
        self.held == 0 || (self.held < self.share && self.weight < self.share_of_bytes)
    }

    /// Nothing of it goes now, not even to try it.
    const fn takes_nothing(&self) -> bool {
        self.allowance.parked && self.allowance.sends == 0
    }

    /// Reading again pays when there is room for more than a few.
    const fn is_half_empty(&self) -> bool {
        self.held <= self.share / 2 && self.weight <= self.share_of_bytes / 2
    }

    fn queue(&mut self, retry: bool) -> &mut VecDeque<i64> {
        if retry { &mut self.retries } else { &mut self.ready }
    }

    /// Retries first: they have waited longest. They are few, or there would be no tokens for them.
    fn next(&mut self) -> Option<i64> {
        if self.allowance.sends == 0 && !planted(Plant::ConcurrencyIgnored) {
            return None;
        }
        // Only as many are counted as may begin, so that a crash leaves few behind that were counted in vain.
        let full = self.counts_first && self.counted.len() >= self.allowed;
        let pop = |queue: &mut VecDeque<i64>| match full {
            false => queue.pop_front(),
            true => {
                let first = queue.iter().position(|number| self.counted.contains(number))?;
                queue.remove(first)
            }
        };
        let retry = self.allowance.retries.then(|| pop(&mut self.retries)).flatten();
        let number = retry.or_else(|| pop(&mut self.ready))?;
        debug_assert!(
            self.allowance.sends > 0 || planted(Plant::ConcurrencyIgnored),
            "more began than may"
        );
        self.allowance.sends = self.allowance.sends.saturating_sub(1);
        Some(number)
    }
}

#[derive(Debug)]
pub(super) struct Tracks {
    lines: Vec<Line>,
    index: BTreeMap<String, usize>,
    tracks: BTreeMap<(u16, usize), Track>,
    in_flight: usize,
    /// Where the next turn is looked for first, so that everyone has theirs.
    next: usize,
    /// The most that may be held for all of them.
    window: usize,
    held: usize,
    /// There are more destinations than have room for their shares beside each other.
    crowded: bool,
}

impl Tracks {
    pub(super) fn new(routes: &Routes, window: usize, bytes: usize) -> Self {
        let count = routes.iter().count().max(1);
        let share = |concurrency: usize| (window / count).max(2 * concurrency).min(window);
        let shares: usize = routes.iter().map(|(_, route)| share(route.concurrency)).sum();
        let crowded = shares > window;
        let lines: Vec<Line> = routes
            .iter()
            .map(|(name, route)| Line {
                name: name.to_owned(),
                ready: VecDeque::new(),
                retries: VecDeque::new(),
                held: 0,
                weight: 0,
                in_flight: 0,
                allowance: Allowance::default(),
                away: false,
                expected: 0,
                counts_first: !route.idempotent,
                counted: BTreeSet::new(),
                allowed: 0,
                share: share(route.concurrency),
                assured: if crowded {
                    window / 2 / count
                } else {
                    share(route.concurrency)
                },
                share_of_bytes: bytes / count,
            })
            .collect();
        let index = lines
            .iter()
            .enumerate()
            .map(|(at, line)| (line.name.clone(), at))
            .collect();
        Self {
            lines,
            index,
            tracks: BTreeMap::new(),
            in_flight: 0,
            next: 0,
            window,
            held: 0,
            crowded,
        }
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    pub(super) fn name(&self, route: usize) -> &str {
        &self.lines[route].name
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| line.name.as_str())
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn held_for(&self, route: usize) -> usize {
        self.lines[route].held
    }

    /// Where there are many destinations, each has a few places of its own in one half of the window, or its turn at one; in the other
    /// half whoever comes first may have more.
    pub(super) fn has_room(&self, route: usize) -> bool {
        let line = &self.lines[route];
        if !self.crowded {
            return line.has_room();
        }
        let free = match line.held {
            0 => self.held < self.window,
            held => held < line.assured || self.held < self.window / 2,
        };
        free && line.has_room() && !line.takes_nothing()
    }

    /// Whether reading again pays.
    fn is_worth_reading(&self, route: usize) -> bool {
        self.lines[route].is_half_empty() && (!self.crowded || self.has_room(route))
    }

    pub(super) fn track(&mut self, shard: u16, route: usize) -> &mut Track {
        self.tracks.entry((shard, route)).or_default()
    }

    pub(super) fn forget_shard(&mut self, shard: u16) {
        self.tracks.retain(|&(of, _), _| of != shard);
    }

    pub(super) fn hold(&mut self, route: usize, weight: usize) {
        self.held += 1;
        let line = &mut self.lines[route];
        line.held += 1;
        line.weight += weight;
    }

    pub(super) fn let_go(&mut self, route: usize, weight: usize) {
        let line = &mut self.lines[route];
        debug_assert!(
            line.held > 0 && line.weight >= weight && self.held >= line.held,
            "more was let go than held"
        );
        line.held = line.held.saturating_sub(1);
        line.weight = line.weight.saturating_sub(weight);
        self.held = self.held.saturating_sub(1);
    }

    pub(super) fn sending(&mut self, route: usize, change: isize) {
        let line = &mut self.lines[route];
        debug_assert!(
            line.in_flight.checked_add_signed(change).is_some() && self.in_flight >= line.in_flight,
            "more ended than was sent"
        );
        line.in_flight = line.in_flight.saturating_add_signed(change);
        self.in_flight = self.in_flight.saturating_add_signed(change);
    }

    pub(super) fn counts_first(&self, route: usize) -> bool {
        self.lines[route].counts_first
    }

    /// The attempt of a message is counted, or about to be, and has not begun.
    pub(super) fn count(&mut self, route: usize, number: i64) {
        let line = &mut self.lines[route];
        if line.counts_first {
            line.counted.insert(number);
        }
    }

    /// The attempt begins, or does not count.
    pub(super) fn uncount(&mut self, route: usize, number: i64) {
        self.lines[route].counted.remove(&number);
    }

    pub(super) fn allow(&mut self, route: usize, allowance: Allowance) {
        let line = &mut self.lines[route];
        line.allowance = allowance;
        line.allowed = allowance.sends;
    }

    /// What is counted of each destination agrees with the messages that are held: their destinations and weights.
    #[cfg(debug_assertions)]
    pub(super) fn check(&self, held: impl Iterator<Item = (usize, usize)>) {
        let mut counts = vec![(0, 0); self.lines.len()];
        for (route, weight) in held {
            counts[route].0 += 1;
            counts[route].1 += weight;
        }
        for (line, count) in self.lines.iter().zip(&counts) {
            debug_assert_eq!((line.held, line.weight), *count, "messages for {}", line.name);
        }
        let all: usize = counts.iter().map(|(count, _)| count).sum();
        debug_assert_eq!(self.held, all, "messages for all destinations");
        let in_flight: usize = self.lines.iter().map(|line| line.in_flight).sum();
        debug_assert_eq!(self.in_flight, in_flight, "messages on their way");
    }

    /// Messages whose attempt is counted are held: any other would keep a place among those that may begin.
    #[cfg(debug_assertions)]
    pub(super) fn check_counted(&self, is_held: impl Fn(i64) -> bool) {
        for line in &self.lines {
            let gone = line.counted.iter().find(|&&number| !is_held(number));
            debug_assert!(gone.is_none(), "{gone:?} is counted for {} and gone", line.name);
        }
    }

    /// The numbers that are ready at any destination, with those that were let go since.
    #[cfg(debug_assertions)]
    pub(super) fn ready_numbers(&self) -> impl Iterator<Item = i64> {
        let lines = self.lines.iter();
        lines.flat_map(|line| line.ready.iter().chain(&line.retries).copied())
    }

    /// What waits for a destination that takes nothing, where others need its places.
    pub(super) fn in_the_way(&mut self, route: usize) -> Vec<i64> {
        let line = &mut self.lines[route];
        if !self.crowded || !line.takes_nothing() {
            return Vec::new();
        }
        line.ready.drain(..).chain(line.retries.drain(..)).collect()
    }

    /// What comes due of a destination that gets nothing is put away, but for what it is tried with.
    pub(super) fn is_parked(&self, route: usize) -> bool {
        let line = &self.lines[route];
        line.allowance.parked && (line.held >= KEPT_TO_PROBE || (self.crowded && line.takes_nothing()))
    }

    pub(super) fn put_away(&mut self, route: usize) {
        self.lines[route].away = true;
    }

    /// Whether something was put away since this was last asked.
    pub(super) fn was_put_away(&mut self, route: usize) -> bool {
        std::mem::take(&mut self.lines[route].away)
    }

    /// So many were brought back. They have their place, whatever else has come meanwhile.
    pub(super) fn expect(&mut self, route: usize, count: usize) {
        self.lines[route].expected = count;
    }

    /// Whether one that comes due is taken in: there is room for what was brought back, be it as a probe of a destination that is down.
    pub(super) fn takes_due(&mut self, route: usize) -> bool {
        let (expected, room) = (self.was_expected(route), self.has_room(route));
        match self.is_parked(route) {
            true => expected && room,
            false => expected || room,
        }
    }

    /// Whether this one is among those that were brought back.
    fn was_expected(&mut self, route: usize) -> bool {
        let line = &mut self.lines[route];
        let expected = line.expected > 0;
        line.expected = line.expected.saturating_sub(1);
        expected
    }

    /// For how many more there is room.
    pub(super) fn room_left(&self, route: usize) -> usize {
        let line = &self.lines[route];
        if self.has_room(route) {
            let in_window = if self.crowded {
                (self.window / 2).saturating_sub(self.held).max(1)
            } else {
                usize::MAX
            };
            line.share.saturating_sub(line.held).min(in_window)
        } else {
            0
        }
    }

    /// Whether anything waits for a destination.
    pub(super) fn has_ready(&self, route: usize) -> bool {
        self.waiting(route) > 0
    }

    /// How many wait for a destination.
    pub(super) fn waiting(&self, route: usize) -> usize {
        let line = &self.lines[route];
        line.ready.len() + line.retries.len()
    }

    pub(super) fn ready(&mut self, route: usize, number: i64, retry: bool) {
        self.lines[route].queue(retry).push_back(number);
    }

    pub(super) fn ready_first(&mut self, route: usize, number: i64, retry: bool) {
        self.lines[route].queue(retry).push_front(number);
    }

    /// The next number that is ready at a destination that takes one more; the destinations take turns.
    pub(super) fn next(&mut self) -> Option<(usize, i64)> {
        let count = self.lines.len();
        for step in 0..count {
            let route = (self.next + step) % count;
            let line = &mut self.lines[route];
            if let Some(number) = line.next() {
                self.next = (route + 1) % count;
                return Some((route, number));
            }
        }
        None
    }

    /// Whether something was let go that has not been read again.
    pub(super) fn has_spilled(&self) -> bool {
        let mut tracks = self.tracks.values();
        tracks.any(|track| track.spilled_from.is_some() || track.reading.is_some())
    }

    pub(super) fn wants_read(&self) -> bool {
        self.tracks.iter().any(|(&(_, route), track)| {
            track.spilled_from.is_some() && track.reading.is_none() && self.is_worth_reading(route)
        })
    }

    /// What was let go, where there is room again: at most so many tracks, with at most so many rows in all.
    pub(super) fn demands(&mut self, at_most: usize, rows: &mut usize) -> Vec<LaneDemand> {
        let mut tracks = std::mem::take(&mut self.tracks);
        let lines = &self.lines;
        let wishing = tracks.iter_mut().filter(|((_, route), track)| {
            track.spilled_from.is_some() && track.reading.is_none() && self.is_worth_reading(*route)
        });
        let demands = wishing
            .take(at_most)
            .map_while(|(&(shard, route), track)| {
                if *rows == 0 {
                    return None;
                }
                let from = track.spilled_from.take()?;
                track.reading = Some(from);
                let line = &lines[route];
                let limit = line.share.saturating_sub(line.held).div_ceil(2).max(1).min(*rows);
                *rows -= limit;
                Some(LaneDemand {
                    shard,
                    destination: line.name.clone(),
                    key: None,
                    from,
                    limit,
                })
            })
            .collect();
        self.tracks = tracks;
        demands
    }
}

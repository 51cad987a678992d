use std::collections::{BTreeMap, BTreeSet};

use crate::{
    plants::{Plant, planted},
    store::Until,
};

/// One lane, as far as it is in memory. Pure: it says whose turn it is.
///
/// What is in memory is always about to go: whatever has to wait for something else in its lane waits in the database, so that blocked
/// lanes, however many, do not fill the window and starve the others.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Messages in memory that wait for their turn.
    queue: BTreeSet<i64>,
    /// Scheduled messages, as far as they are known, and until when where that is known; each blocks what comes after it.
    scheduled: BTreeMap<i64, Option<Until>>,
    /// From this number on, messages were let go and have to be read again.
    spilled_from: Option<i64>,
    /// The message whose turn it is, until its verdict is written: a successor that is sent earlier could arrive before a
    /// predecessor that is sent again after a crash.
    turn: Option<i64>,
    /// The database refuses the verdict on the message whose turn it is: what comes after it waits in the database.
    stuck: bool,
    /// The dead letter that the lane stands still for.
    parked: Option<i64>,
    /// The message whose turn it is, if an operator has let the lane continue without it: its verdict was written, the answer lost.
    passed: Option<i64>,
    /// An operator has parked the lane: nothing goes, whatever else it stands still for.
    held: bool,
    /// A read from this number on is under way.
    reading: Option<i64>,
    /// Whether the window has put its wish to be read down.
    pub(super) wanted: bool,
    /// Whether the window has noted that it may be forgotten.
    pub(super) noted_asleep: bool,
}

/// What a lane wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// This message can go.
    Go(i64),
    /// Its next messages have to be read again, from this number on.
    Read(i64),
    /// Nothing, until something happens.
    Wait,
    /// It can be forgotten.
    Gone,
}

/// What becomes of a message of the lane whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// It is its turn.
    Taken,
    /// Something before it is on its way.
    Soon,
    /// Something before it waits until then.
    After(Until),
    /// The lane stands still.
    Later,
}

impl Lane {
    pub(super) fn wish(&self) -> Wish {
        if self.turn.is_some() || self.reading.is_some() || self.held {
            return Wish::Wait;
        }
        if self.parked.is_some() {
            // Redriven by an operator, the head goes; only what was redriven and is before it goes first.
            let first = self.queue.first().copied();
            let first = first.filter(|&number| !self.stands_before(number));
            return first.map_or(Wish::Wait, Wish::Go);
        }
        let waiting = self.queue.first().copied().unwrap_or(i64::MAX);
        let scheduled = self
            .scheduled
            .first_key_value()
            .map_or(i64::MAX, |(&number, _)| number);
        let spilled = self.spilled_from.unwrap_or(i64::MAX);
        if waiting == i64::MAX && scheduled == i64::MAX && spilled == i64::MAX {
            Wish::Gone
        } else if waiting < scheduled && waiting <= spilled {
            Wish::Go(waiting)
        } else if spilled < scheduled {
            Wish::Read(spilled)
        } else {
            Wish::Wait
        }
    }

    /// Takes a message in, or lets it go if there is no room for it now, or if what stands before it will take its time.
    pub(super) fn push(&mut self, number: i64, room: bool) -> bool {
        // It is not scheduled in the database: that it is to be was never written.
        self.scheduled.remove(&number);
        // A late one that belongs before others that are here already has room: to let it go would block them in memory.
        let amid = self.queue.last().is_some_and(|&last| number < last);
        let beyond = self.spilled_from.is_some_and(|from| number >= from);
        let held_back = self.stands_before(number) || self.blocker(number).is_some();
        if beyond || held_back || !(room || amid) {
            self.spill(number);
            return false;
        }
        self.queue.insert(number);
        true
    }

    /// Whether the lane stands still, for another one than this. Once its head was redriven, what is before the head can go.
    fn stands_before(&self, number: i64) -> bool {
        let stands = |head: i64| head < number || (head > number && !self.is_live(head));
        self.held || self.stuck || self.parked.is_some_and(stands)
    }

    fn is_live(&self, number: i64) -> bool {
        self.turn == Some(number) || self.queue.contains(&number) || self.scheduled.contains_key(&number)
    }

    /// The scheduled message that stands before this one.
    fn blocker(&self, number: i64) -> Option<(i64, Option<Until>)> {
        let (&first, &due) = self.scheduled.first_key_value()?;
        (first < number).then_some((first, due))
    }

    /// A message whose time has come: it is taken in if it can go at once.
    pub(super) fn push_due(&mut self, number: i64) -> Due {
        let first = self.queue.first().is_none_or(|&first| number < first);
        // What was let go was never scheduled: with the same number, it begins behind this one.
        let first = first && self.spilled_from.is_none_or(|from| number <= from);
        let free = self.turn.is_none() && self.reading.is_none();
        if self.stands_before(number) {
            return Due::Later;
        }
        // What the lane stands still for does not wait for what was let go: nothing of that is read before it is through.
        let heads = self.parked == Some(number);
        match self.blocker(number) {
            Some((_, Some(until))) => Due::After(until),
            None if (first || heads) && free => {
                self.scheduled.remove(&number);
                self.queue.insert(number);
                Due::Taken
            }
            _ => Due::Soon,
        }
    }

    /// The message waits for its time. What stands behind it need not stay in memory meanwhile, and is named.
    #[must_use = "what is named is to be let go"]
    pub(super) fn schedule(&mut self, number: i64, until: Option<Until>) -> Vec<i64> {
        self.scheduled.insert(number, until);
        if self.queue.last().is_some_and(|&last| last > number) {
            self.spill_all()
        } else {
            Vec::new()
        }
    }

    /// The database has the message as one that was never scheduled: a copy of the tables may have taken their place. Says whether the lane
    /// waited for it.
    pub(super) fn unschedule(&mut self, number: i64) -> bool {
        self.scheduled.remove(&number).is_some()
    }

    pub(super) fn take_turn(&mut self, number: i64) {
        debug_assert!(self.turn.is_none(), "one of a lane at a time");
        self.queue.remove(&number);
        self.turn = Some(number);
        self.passed = None;
    }

    pub(super) fn has_turn(&self, number: i64) -> bool {
        self.turn == Some(number)
    }

    /// Gives the turn back without a verdict; the message is let go.
    pub(super) fn end_turn(&mut self, number: i64) {
        if self.turn == Some(number) {
            self.turn = None;
            self.stuck = false;
        }
    }

    /// The verdict on the message whose turn it is cannot be written for now. What was let go is named.
    #[must_use = "what is named is to be let go"]
    pub(super) fn stick(&mut self, number: i64) -> Vec<i64> {
        debug_assert!(
            self.turn == Some(number) || planted(Plant::TurnEndsAtSend),
            "a verdict ends a turn"
        );
        self.stuck = true;
        self.spill_all()
    }

    /// The message is no more.
    pub(super) fn forget(&mut self, number: i64) {
        self.queue.remove(&number);
        self.end_turn(number);
    }

    pub(super) fn spill(&mut self, number: i64) {
        if planted(Plant::LetGoForgotten) {
            return;
        }
        self.spilled_from = Some(self.spilled_from.map_or(number, |from| from.min(number)));
    }

    /// Lets go of all that waits in memory, and names it.
    fn spill_all(&mut self) -> Vec<i64> {
        let gone: Vec<i64> = std::mem::take(&mut self.queue).into_iter().collect();
        if let Some(&first) = gone.first() {
            self.spill(first);
        }
        gone
    }

    /// Nothing of the lane goes for a while: the turn is given back. What was let go is named.
    #[must_use = "what is named is to be let go"]
    pub(super) fn make_way(&mut self, number: i64) -> Vec<i64> {
        self.end_turn(number);
        self.spill_all()
    }

    /// The lane stands still for this dead letter. What was let go is named.
    #[must_use = "what is named is to be let go"]
    pub(super) fn park(&mut self, head: i64) -> Vec<i64> {
        if self.passed.take() == Some(head) {
            return Vec::new();
        }
        if !planted(Plant::LaneNotParked) {
            self.parked = Some(head);
        }
        self.spill_all()
    }

    /// An operator has parked the lane. What was let go is named.
    #[must_use = "what is named is to be let go"]
    pub(super) fn hold(&mut self) -> Vec<i64> {
        self.held = true;
        self.spill_all()
    }

    /// An operator lets the lane go on without this dead letter. Another one that died since then keeps it where it is.
    pub(super) fn resume(&mut self, head: i64) {
        self.held = false;
        if self.turn == Some(head) {
            self.passed = Some(head);
        }
        self.pass(head);
    }

    /// What the lane stood still for is out of its way.
    pub(super) fn pass(&mut self, head: i64) {
        if self.parked == Some(head) {
            self.parked = None;
        }
    }

    /// The message whose verdict the database refuses, if nothing but that stops the lane.
    pub(super) fn stuck_behind(&self) -> Option<i64> {
        self.turn
            .filter(|_| self.stuck && !self.held && self.parked.is_none())
    }

    /// Whose turn it is, and that an operator does not want to go.
    pub(super) fn turn_in_vain(&self) -> Option<i64> {
        self.turn.filter(|_| self.held)
    }

    /// The dead letter that it is parked for.
    pub(super) const fn parked_for(&self) -> Option<i64> {
        self.parked
    }

    pub(super) fn is_parked_for(&self, number: i64) -> bool {
        self.parked == Some(number)
    }

    /// A read takes over what was let go so far. What is let go from now on is another story.
    pub(super) fn begin_read(&mut self) {
        debug_assert!(self.reading.is_none(), "a lane is read once at a time");
        debug_assert!(self.spilled_from.is_some(), "there is something to read");
        self.reading = self.spilled_from.take();
    }

    /// The read has come back: `next` is where it must go on, if it was not complete.
    pub(super) fn end_read(&mut self, next: Option<i64>) {
        self.reading = None;
        if let Some(next) = next {
            self.spill(next);
        }
    }

    /// The read failed: what was let go is still to be read.
    pub(super) fn forget_read(&mut self) {
        if let Some(from) = self.reading.take() {
            self.spill(from);
        }
    }

    /// Whether a message is among those that were let go, or that the read under way brings.
    pub(super) fn has_spilled(&self, number: i64) -> bool {
        let begins = [self.spilled_from, self.reading];
        begins.into_iter().flatten().any(|from| from <= number)
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing but scheduled messages is known of it.
    pub(super) fn is_asleep(&self) -> bool {
        let nothing_else = self.queue.is_empty() && self.spilled_from.is_none() && self.reading.is_none();
        nothing_else
            && self.turn.is_none()
            && self.parked.is_none()
            && !self.held
            && !self.scheduled.is_empty()
    }

    /// Whether a scheduled message is before this one.
    pub(super) fn is_blocked(&self, number: i64) -> bool {
        self.blocker(number).is_some()
    }

    /// The numbers of the scheduled messages that are known.
    pub(super) fn scheduled(&self) -> impl Iterator<Item = i64> {
        self.scheduled.keys().copied()
    }

    #[cfg(debug_assertions)]
    pub(super) const fn turn(&self) -> Option<i64> {
        self.turn
    }

    #[cfg(debug_assertions)]
    pub(super) fn is_queued(&self, number: i64) -> bool {
        self.queue.contains(&number)
    }

    /// A message has one place, and what is in memory is known to the window.
    #[cfg(debug_assertions)]
    pub(super) fn check(&self, is_known: impl Fn(i64) -> bool) {
        for &number in self.queue.iter().chain(&self.turn) {
            debug_assert!(is_known(number), "nobody holds {number}: {self:?}");
            debug_assert!(
                !self.scheduled.contains_key(&number),
                "{number} waits for its turn and for its time: {self:?}"
            );
        }
        debug_assert!(
            self.turn.is_none_or(|turn| !self.queue.contains(&turn)),
            "twice in its lane: {self:?}"
        );
        debug_assert!(
            !self.stuck || self.turn.is_some(),
            "a verdict that is refused ends no turn: {self:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    #[test]
    fn one_at_a_time_in_order() {
        let mut lane = Lane::default();
        assert!(lane.push(5, true) && lane.push(3, true));
        assert_eq!(lane.wish(), Wish::Go(3));
        lane.take_turn(3);
        assert_eq!(lane.wish(), Wish::Wait);
        lane.end_turn(3);
        assert_eq!(lane.wish(), Wish::Go(5));
        lane.take_turn(5);
        lane.end_turn(5);
        assert_eq!(lane.wish(), Wish::Gone);
    }

    #[test]
    fn a_scheduled_head_holds_its_successors_but_not_its_predecessors() {
        let mut lane = Lane::default();
        assert!(lane.schedule(6, None).is_empty());
        assert!(lane.push(5, true));
        assert!(!lane.push(7, true), "it waits in the database");
        assert_eq!(lane.wish(), Wish::Go(5));
        lane.take_turn(5);
        lane.end_turn(5);
        assert_eq!(lane.wish(), Wish::Wait);
        assert_eq!(lane.push_due(6), Due::Taken);
        assert_eq!(lane.wish(), Wish::Go(6));
        lane.take_turn(6);
        lane.end_turn(6);
        assert_eq!(lane.wish(), Wish::Read(7));
    }

    #[test]
    fn a_message_that_was_never_scheduled_after_all_goes() {
        let mut lane = Lane::default();
        assert!(lane.schedule(6, None).is_empty());
        assert!(!lane.push(7, true));
        assert!(lane.push(6, true));
        assert_eq!(lane.wish(), Wish::Go(6));
        lane.take_turn(6);
        lane.end_turn(6);
        assert_eq!(lane.wish(), Wish::Read(7));
    }

    #[test]
    fn what_is_due_waits_for_what_is_before_it() {
        let mut lane = Lane::default();
        let later = Until::At(Timestamp::from_millis(900));
        assert!(lane.schedule(3, Some(later)).is_empty());
        assert!(lane.schedule(6, None).is_empty());
        assert_eq!(lane.push_due(6), Due::After(later));
        assert_eq!(lane.push_due(3), Due::Taken);
        assert_eq!(lane.wish(), Wish::Go(3));
        lane.take_turn(3);
        assert_eq!(lane.push_due(6), Due::Soon);
    }

    #[test]
    fn what_is_let_go_during_a_read_is_not_forgotten() {
        let mut lane = Lane::default();
        assert!(!lane.push(7, false));
        lane.begin_read();
        assert_eq!(lane.wish(), Wish::Wait);
        lane.spill(9);
        lane.end_read(None);
        assert_eq!(lane.wish(), Wish::Read(9));
        lane.begin_read();
        lane.forget_read();
        assert_eq!(lane.wish(), Wish::Read(9));
    }

    #[test]
    fn a_due_message_does_not_wait_for_what_was_let_go_behind_it() {
        let mut lane = Lane::default();
        assert!(lane.schedule(9, None).is_empty());
        lane.spill(8);
        lane.begin_read();
        lane.end_read(Some(9));
        assert_eq!(lane.push_due(9), Due::Taken);
        assert_eq!(lane.wish(), Wish::Go(9));
    }

    #[test]
    fn a_parked_lane_lets_only_its_head_go() {
        let mut lane = Lane::default();
        assert!(lane.park(3).is_empty());
        assert!(!lane.push(4, true));
        assert_eq!(lane.wish(), Wish::Wait);
        assert_eq!(lane.push_due(3), Due::Taken);
        assert_eq!(lane.wish(), Wish::Go(3));
        lane.take_turn(3);
        lane.end_turn(3);
        lane.resume(3);
        assert_eq!(lane.wish(), Wish::Read(4));
    }

    #[test]
    fn the_head_of_a_parked_lane_does_not_wait_for_what_was_let_go() {
        let mut lane = Lane::default();
        assert!(lane.park(3).is_empty());
        lane.spill(2);
        assert_eq!(lane.push_due(3), Due::Taken);
        assert_eq!(lane.wish(), Wish::Go(3));
    }

    #[test]
    fn the_head_of_a_parked_lane_goes_after_what_was_redriven_before_it() {
        let mut lane = Lane::default();
        assert!(lane.park(3).is_empty());
        assert_eq!(lane.push_due(1), Due::Later, "the head is a dead letter");
        let later = Until::At(Timestamp::from_millis(900));
        assert!(lane.schedule(1, Some(later)).is_empty());
        assert_eq!(lane.push_due(3), Due::After(later));
        assert!(lane.schedule(3, Some(later)).is_empty());
        assert_eq!(lane.push_due(5), Due::Later);
        assert_eq!(lane.push_due(1), Due::Taken);
        assert_eq!(lane.wish(), Wish::Go(1));
        lane.take_turn(1);
        assert_eq!(lane.push_due(3), Due::Soon);
        lane.forget(1);
        assert_eq!(lane.push_due(3), Due::Taken);
        assert_eq!(lane.wish(), Wish::Go(3));
    }

    #[test]
    fn of_a_lane_that_an_operator_parked_nothing_goes() {
        let mut lane = Lane::default();
        assert!(lane.push(3, true) && lane.push(4, true));
        assert_eq!(lane.hold(), [3, 4], "what waited in memory is let go");
        assert!(!lane.push(5, true));
        assert_eq!(lane.push_due(2), Due::Later);
        assert_eq!(lane.wish(), Wish::Wait);
        lane.resume(0);
        assert_eq!(lane.wish(), Wish::Read(3));
    }

    #[test]
    fn a_park_by_hand_does_not_hide_what_dies_meanwhile() {
        let mut lane = Lane::default();
        lane.take_turn(3);
        assert!(lane.hold().is_empty());
        lane.end_turn(3);
        assert!(lane.park(3).is_empty());
        lane.pass(3);
        assert_eq!(lane.wish(), Wish::Wait, "the operator's park outlasts the head");
        assert!(lane.park(4).is_empty());
        lane.spill(5);
        lane.resume(0);
        assert_eq!(lane.wish(), Wish::Wait, "it died after the lane was let go on");
        lane.resume(4);
        assert_eq!(lane.wish(), Wish::Read(5));
    }
}

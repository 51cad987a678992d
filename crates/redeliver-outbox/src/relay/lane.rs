use std::collections::BTreeSet;

/// One lane, as far as it is in memory. Pure: it says whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Messages in memory that wait for their turn.
    queue: BTreeSet<i64>,
    /// Messages that wait in the database for their time; each holds back what comes after it.
    scheduled: BTreeSet<i64>,
    /// From this number on, messages were let go and have to be read again.
    spilled_from: Option<i64>,
    /// The message whose turn it is, until its verdict is written: a successor that is sent earlier could arrive before a
    /// predecessor that is sent again after a crash.
    turn: Option<i64>,
    /// The dead letter that the lane stands still for.
    parked: Option<i64>,
    /// A read from this number on is under way.
    reading: Option<i64>,
    /// Whether the window has put its wish to be read down.
    pub(super) wanted: bool,
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

impl Lane {
    pub(super) fn wish(&self) -> Wish {
        if self.turn.is_some() || self.reading.is_some() {
            return Wish::Wait;
        }
        if let Some(head) = self.parked {
            // Put back by an operator, the head goes first; nothing else goes before it has arrived.
            return if self.queue.contains(&head) {
                Wish::Go(head)
            } else {
                Wish::Wait
            };
        }
        let waiting = self.queue.first().copied().unwrap_or(i64::MAX);
        let scheduled = self.scheduled.first().copied().unwrap_or(i64::MAX);
        let spilled = self.spilled_from.unwrap_or(i64::MAX);
        if waiting == i64::MAX && scheduled == i64::MAX && spilled == i64::MAX {
            Wish::Gone
        } else if waiting < scheduled && waiting < spilled {
            Wish::Go(waiting)
        } else if spilled < scheduled {
            Wish::Read(spilled)
        } else {
            Wish::Wait
        }
    }

    /// Takes a message in, or lets it go if there is no room for it now.
    pub(super) fn push(&mut self, number: i64, room: bool) -> bool {
        let beyond = self.spilled_from.is_some_and(|from| number >= from);
        if beyond || !room || self.is_held_back_before(number) {
            self.spill(number);
            return false;
        }
        self.queue.insert(number);
        true
    }

    /// A message whose time has come: it is not scheduled any more, and always has room.
    pub(super) fn push_due(&mut self, number: i64) {
        self.scheduled.remove(&number);
        self.queue.insert(number);
    }

    /// What stands before it will take its time: the message need not stay in memory meanwhile.
    fn is_held_back_before(&self, number: i64) -> bool {
        self.parked.is_some_and(|head| head != number)
            || self.scheduled.first().is_some_and(|&first| first < number)
    }

    pub(super) fn schedule(&mut self, number: i64) {
        self.scheduled.insert(number);
    }

    pub(super) fn take_turn(&mut self, number: i64) {
        self.queue.remove(&number);
        self.turn = Some(number);
    }

    /// Gives the turn back without a verdict; the message is let go.
    pub(super) fn end_turn(&mut self, number: i64) {
        if self.turn == Some(number) {
            self.turn = None;
        }
    }

    pub(super) fn spill(&mut self, number: i64) {
        self.spilled_from = Some(self.spilled_from.map_or(number, |from| from.min(number)));
    }

    /// Lets go of all that waits in memory, and names it.
    pub(super) fn spill_all(&mut self) -> Vec<i64> {
        let gone: Vec<i64> = std::mem::take(&mut self.queue).into_iter().collect();
        if let Some(&first) = gone.first() {
            self.spill(first);
        }
        gone
    }

    pub(super) fn park(&mut self, head: i64) {
        self.parked = Some(head);
    }

    pub(super) fn resume(&mut self) {
        self.parked = None;
    }

    pub(super) fn is_parked_for(&self, number: i64) -> bool {
        self.parked == Some(number)
    }

    /// A read takes over what was let go so far. What is let go from now on is another story.
    pub(super) fn begin_read(&mut self) {
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

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        lane.schedule(6);
        assert!(lane.push(5, true));
        assert!(!lane.push(7, true), "it waits in the database");
        assert_eq!(lane.wish(), Wish::Go(5));
        lane.take_turn(5);
        lane.end_turn(5);
        assert_eq!(lane.wish(), Wish::Wait);
        lane.push_due(6);
        assert_eq!(lane.wish(), Wish::Go(6));
        lane.take_turn(6);
        lane.end_turn(6);
        assert_eq!(lane.wish(), Wish::Read(7));
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
    fn a_parked_lane_lets_only_its_head_go() {
        let mut lane = Lane::default();
        lane.park(3);
        assert!(!lane.push(4, true));
        assert_eq!(lane.wish(), Wish::Wait);
        lane.push_due(3);
        assert_eq!(lane.wish(), Wish::Go(3));
        lane.take_turn(3);
        lane.end_turn(3);
        lane.resume();
        assert_eq!(lane.wish(), Wish::Read(4));
    }
}

use std::time::Duration;

use redeliver::Moment;

/// How many attempts run side by side: one more for each round that went well, three tenths fewer when the destination shows that it
/// is too much.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    floor: f64,
    ceiling: f64,
    limit: f64,
    /// How long an attempt usually takes.
    usual: Option<Duration>,
    /// What was on its way at the last cut says nothing new.
    next_cut: Moment,
}

const CUT: f64 = 0.7;
/// So many times as long as usual is a sign of a queue on the other side.
const SLOW: u32 = 3;
/// Below this nobody is slow.
const QUICK: Duration = Duration::from_millis(50);
const SHORTEST_ROUND: Duration = Duration::from_millis(100);

impl Pace {
    pub(super) fn new(floor: usize, ceiling: usize) -> Self {
        let ceiling = ceiling.max(1);
        Self {
            floor: floor.clamp(1, ceiling) as f64,
            ceiling: ceiling as f64,
            limit: ceiling as f64,
            usual: None,
            next_cut: Moment::ZERO,
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit as usize
    }

    pub(super) fn ceiling(&self) -> usize {
        self.ceiling as usize
    }

    /// An attempt was answered. `in_flight` is with it.
    pub(super) fn answered(&mut self, took: Duration, in_flight: usize, now: Moment) {
        let usual = self.usual.unwrap_or(took);
        let slow = took > (usual * SLOW).max(QUICK);
        // What is slow for good becomes usual, slowly.
        let weight = if slow { 128 } else { 16 };
        self.usual = Some((usual * (weight - 1) + took) / weight);
        if slow {
            self.cut(now);
        } else if in_flight as f64 >= self.limit.floor() {
            self.limit = (self.limit + 1.0 / self.limit).min(self.ceiling);
        }
    }

    /// It was too much, or there was no answer in time.
    pub(super) fn cut(&mut self, now: Moment) {
        if now < self.next_cut {
            return;
        }
        self.limit = (self.limit * CUT).max(self.floor);
        let round = self.usual.unwrap_or(SHORTEST_ROUND).max(SHORTEST_ROUND);
        self.next_cut = now.plus(round);
    }

    /// It was not too much after all.
    pub(super) const fn give_back(&mut self) {
        self.limit = self.ceiling;
    }

    /// From the beginning, after an outage.
    pub(super) fn begin_again(&mut self) {
        self.limit = self.floor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(10);

    fn at(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    #[test]
    fn it_stays_between_floor_and_ceiling_and_finds_its_way_back() {
        let mut pace = Pace::new(2, 32);
        assert_eq!(pace.limit(), 32);
        for second in 1..60 {
            pace.cut(at(second * 1_000));
        }
        assert_eq!(pace.limit(), 2);
        for answer in 0..4_000 {
            let in_flight = pace.limit();
            pace.answered(TICK, in_flight, at(100_000 + answer));
        }
        assert_eq!(pace.limit(), 32);
    }

    #[test]
    fn one_bad_round_is_one_cut() {
        let mut pace = Pace::new(1, 100);
        for _ in 0..100 {
            pace.cut(at(5_000));
        }
        assert_eq!(pace.limit(), 70);
    }

    #[test]
    fn who_has_little_to_send_learns_nothing_of_the_limit() {
        let mut pace = Pace::new(1, 100);
        pace.begin_again();
        for answer in 0..1_000 {
            pace.answered(TICK, 0, at(answer));
        }
        assert_eq!(pace.limit(), 1);
    }

    #[test]
    fn slowness_cuts_and_then_becomes_usual() {
        let mut pace = Pace::new(1, 64);
        for answer in 0..50 {
            pace.answered(TICK, 1, at(answer));
        }
        for round in 0..20 {
            pace.answered(Duration::from_millis(400), 64, at(10_000 + round * 1_000));
        }
        assert!(pace.limit() < 16, "{pace:?}");
        for round in 0..3_000 {
            let in_flight = pace.limit();
            pace.answered(Duration::from_millis(400), in_flight, at(100_000 + round * 1_000));
        }
        assert_eq!(pace.limit(), 64, "{pace:?}");
    }
}

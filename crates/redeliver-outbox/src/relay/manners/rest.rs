use std::time::Duration;

use redeliver::Moment;

/// The rest that a destination asked for. What it tells one message it tells all, unless it shows that it does not mean them: of what was on
/// its way when it asked, and was answered afterwards, most was taken, again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    until: Moment,
    /// Answers that came during its rests.
    taken: f64,
    refused: f64,
    /// Until then, what one message is told is for that message.
    for_one_until: Moment,
}

/// Fewer answers than this prove nothing.
const FEWEST: f64 = 30.0;
const MOST: f64 = 0.6;
/// It is asked again after this long.
const FOR_ONE: Duration = Duration::from_secs(60);

impl Rest {
    pub(super) const fn until(&self) -> Moment {
        self.until
    }

    pub(super) fn taken(&mut self, now: Moment) {
        if now < self.until {
            self.taken += 1.0;
        }
    }

    pub(super) fn asked(&mut self, rest: Duration, now: Moment) {
        if now < self.until {
            self.refused += 1.0;
        }
        let answers = self.taken + self.refused;
        if answers >= FEWEST {
            if self.taken >= answers * MOST {
                self.for_one_until = now.plus(FOR_ONE);
                self.until = now;
            }
            (self.taken, self.refused) = (0.0, 0.0);
        }
        if now >= self.for_one_until {
            self.until = self.until.max(now.plus(rest));
        }
    }

    /// It refuses most: it means all of them after all.
    pub(super) const fn means_all(&mut self) {
        self.for_one_until = Moment::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// So many are taken, and so many asked to come again, during each of ten rests: how many rests there are.
    fn rests(taken: usize, refused: usize) -> usize {
        let mut rest = Rest::default();
        let mut rests = 0;
        for second in 0..10 {
            let now = Moment::from_millis(second * 1_000);
            rest.asked(SECOND, now);
            rests += usize::from(rest.until() > now);
            (0..taken).for_each(|_| rest.taken(now));
            (0..refused).for_each(|_| rest.asked(SECOND, now));
        }
        rests
    }

    #[test]
    fn who_takes_most_of_what_is_on_its_way_does_not_mean_all() {
        assert_eq!(rests(22, 9), 1);
        assert_eq!(rests(10, 4), 3);
    }

    #[test]
    fn who_refuses_what_is_on_its_way_means_all() {
        assert_eq!(rests(5, 25), 10);
        assert_eq!(rests(0, 0), 10, "with one at a time there is nothing to be seen");
    }

    #[test]
    fn it_can_change_its_mind() {
        let mut rest = Rest {
            for_one_until: Moment::from_millis(60_000),
            ..Rest::default()
        };
        rest.asked(SECOND, Moment::from_millis(1_000));
        assert_eq!(rest.until(), Moment::ZERO);
        rest.means_all();
        rest.asked(SECOND, Moment::from_millis(2_000));
        assert_eq!(rest.until(), Moment::from_millis(3_000));
    }
}

use std::time::Duration;

use redeliver::Moment;

use super::pace::Pace;

/// What is learnt from a destination that asks for fewer requests without saying when to come again: how many a second it takes.
///
/// It is asked for just more than it takes, and for a tenth more each second in which it does not complain. Where that only makes fewer
/// arrive, it does not complain of the load but refuses by chance, and slowing down would help nobody.
#[derive(Clone, Debug, Default)]
pub(super) struct Throttle {
    epoch: Epoch,
    per_second: Option<f64>,
    /// What arrived a second, and which share was refused, before it was last slowed down.
    before: Option<(f64, f64)>,
    complained: Moment,
    leave_alone_until: Moment,
}

/// What was seen in a second or so.
#[derive(Clone, Debug, Default)]
struct Epoch {
    began: Option<Moment>,
    taken: f64,
    refused: f64,
    /// Refused with a time to come again: those are waited for by all.
    hinted: f64,
}

/// So long after it has complained a destination is said to throttle.
const RECENT: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_secs(1);
/// Fewer answers than this say nothing.
const FEWEST: f64 = 10.0;
/// As many as this are no coincidence.
const SURE: f64 = 30.0;
/// A share that is refused without anybody minding.
const TOLERATED: f64 = 0.1;
const GAIN: f64 = 1.1;
/// A destination is not asked less often than this.
const SLOWEST: f64 = 0.5;
/// After so long without a complaint it may get all there is.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// What refuses by chance is looked at again after this long.
const LEAVE_ALONE: Duration = Duration::from_secs(60);

impl Throttle {
    pub(super) const fn per_second(&self) -> Option<f64> {
        self.per_second
    }

    /// Whether it is asked for less than it might get, or was a short time ago.
    pub(super) fn complained(&self, now: Moment) -> bool {
        self.complained > Moment::ZERO && now.since(self.complained) < RECENT
    }

    pub(super) fn taken(&mut self, pace: &mut Pace, now: Moment) {
        self.epoch.taken += 1.0;
        self.look(pace, now);
    }

    /// Says whether it refuses most, hints and all.
    pub(super) fn refused(&mut self, hinted: bool, pace: &mut Pace, now: Moment) -> bool {
        let count = if hinted {
            &mut self.epoch.hinted
        } else {
            &mut self.epoch.refused
        };
        *count += 1.0;
        let most = self.epoch.hinted > self.epoch.taken && self.epoch.hinted >= SURE;
        self.look(pace, now);
        most
    }

    /// It counts as down. If it was for refusals of load, it gets no more afterwards than what it took, or took before.
    pub(super) fn tripped(&mut self, usual: f64, now: Moment) {
        let epoch = std::mem::take(&mut self.epoch);
        self.before = None;
        if epoch.refused + epoch.hinted > epoch.taken {
            let took = epoch
                .began
                .map_or(SHORTEST, |began| now.since(began).max(SHORTEST));
            let takes = (epoch.taken / took.as_secs_f64()).max(usual);
            self.per_second = Some((takes * GAIN).max(SLOWEST));
            self.complained = now;
        }
    }

    fn look(&mut self, pace: &mut Pace, now: Moment) {
        let began = *self.epoch.began.get_or_insert(now);
        let took = now.since(began);
        if took < SHORTEST || self.epoch.answers() < FEWEST {
            return;
        }
        let share = self.epoch.share();
        let taken = self.epoch.taken / took.as_secs_f64();
        self.epoch = Epoch::default();
        if share <= TOLERATED {
            self.before = None;
            if now.since(self.complained) >= FORGOTTEN {
                self.per_second = None;
            }
            let gained = GAIN.powf(took.as_secs_f64().min(60.0));
            // More is asked of it only once it gets all that it may.
            let more = |rate: f64| if taken >= rate * 0.8 { rate * gained } else { rate };
            self.per_second = self.per_second.map(more);
            return;
        }
        self.complained = now;
        if now < self.leave_alone_until {
            return;
        }
        if self
            .before
            .is_some_and(|(arrived, refused)| in_vain((arrived, refused), (taken, share)))
        {
            *self = Self {
                leave_alone_until: now.plus(LEAVE_ALONE),
                ..Self::default()
            };
            pace.give_back();
            return;
        }
        self.before = Some((taken, share));
        self.per_second = Some((taken * GAIN).max(SLOWEST));
        pace.cut(now);
    }
}

impl Epoch {
    const fn answers(&self) -> f64 {
        self.taken + self.refused + self.hinted
    }

    /// A rest is what a hint asks for. Only where most are refused even so there is more to do.
    fn share(&self) -> f64 {
        let hinted = if self.hinted > self.taken {
            self.hinted
        } else {
            0.0
        };
        (self.refused + hinted) / self.answers()
    }
}

/// Fewer were sent, fewer arrived, and as many of them as before were refused.
fn in_vain((arrived, refused): (f64, f64), (arrives, refuses): (f64, f64)) -> bool {
    arrives < arrived * 0.9 && (refused * 0.7..=(refused * 1.3).min(0.7)).contains(&refuses)
}

use super::{OutageKind, Scenario};

/// What becomes of a request, known as soon as it is sent: nothing that comes later changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Answered at this time.
    Answered(u64),
    /// The connection is lost at this time, with the server.
    Reset(u64),
    /// No server is there.
    Refused,
    /// The queue is full: a 503, at once.
    Shed,
    /// No answer will ever come.
    Silence,
}

/// A server of limited capacity that is down for a while. Times are in nanoseconds of the run.
#[derive(Debug)]
pub(super) struct Server {
    /// The time that each request keeps the server busy.
    slot: u64,
    latency: u64,
    queue: u64,
    kind: OutageKind,
    down_from: u64,
    down_until: u64,
    /// When it will have worked off what it has accepted, on its own clock, which stands still while it hangs.
    busy_until: u64,
    restarted: bool,
}

impl Server {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            slot: (1e9 / scenario.capacity).round().max(1.0) as u64,
            latency: scenario.latency.as_nanos() as u64,
            queue: u64::from(scenario.queue_length()),
            kind: scenario.outage_kind,
            down_from: scenario.outage_at.as_nanos() as u64,
            down_until: scenario.outage_end().as_nanos() as u64,
            busy_until: 0,
            restarted: false,
        }
    }

    pub(super) fn send(&mut self, now: u64) -> Fate {
        let down = (self.down_from..self.down_until).contains(&now);
        match self.kind {
            OutageKind::Refuse if down => Fate::Refused,
            OutageKind::Refuse => self.send_to_crashing(now),
            OutageKind::Hang => self.send_to_hanging(now, down),
        }
    }

    fn send_to_crashing(&mut self, now: u64) -> Fate {
        if now >= self.down_until && !self.restarted {
            self.restarted = true;
            self.busy_until = now;
        }
        match self.accept(now) {
            None => Fate::Shed,
            Some(answer) if now < self.down_from && answer > self.down_from => Fate::Reset(self.down_from),
            Some(answer) => Fate::Answered(answer),
        }
    }

    fn send_to_hanging(&mut self, now: u64, down: bool) -> Fate {
        let pause = self.down_until - self.down_from;
        let own = match now {
            _ if down => self.down_from,
            _ if now >= self.down_until => now - pause,
            _ => now,
        };
        match self.accept(own) {
            None if down => Fate::Silence,
            None => Fate::Shed,
            Some(answer) if answer > self.down_from => Fate::Answered(answer + pause),
            Some(answer) => Fate::Answered(answer),
        }
    }

    /// When a request that comes at `now` is answered; `None` if the queue is full.
    fn accept(&mut self, now: u64) -> Option<u64> {
        let starts = self.busy_until.max(now);
        if (starts - now) / self.slot >= self.queue {
            return None;
        }
        self.busy_until = starts + self.slot;
        Some(starts + self.latency)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn server(kind: OutageKind) -> Server {
        let mut scenario = Scenario::new(10, 10.0, Duration::from_secs(5));
        scenario.outage_kind = kind;
        scenario.queue = Some(4);
        Server::new(&scenario)
    }

    #[test]
    fn works_in_order_at_its_capacity_and_sheds_what_does_not_fit() {
        let mut server = server(OutageKind::Refuse);
        let fates: Vec<Fate> = (0..6).map(|_| server.send(0)).collect();
        let answered = [50, 150, 250, 350].map(|millis| Fate::Answered(millis * 1_000_000));
        assert_eq!(fates[..4], answered);
        assert_eq!(fates[4..], [Fate::Shed, Fate::Shed]);
        assert_eq!(server.send(SECOND), Fate::Answered(SECOND + 50_000_000));
    }

    #[test]
    fn a_crash_resets_what_it_had_and_comes_back_empty() {
        let mut server = server(OutageKind::Refuse);
        let crash = 10 * SECOND;
        for _ in 0..3 {
            assert_eq!(server.send(crash - 1), Fate::Reset(crash));
        }
        assert_eq!(server.send(crash), Fate::Refused);
        assert_eq!(server.send(15 * SECOND), Fate::Answered(15 * SECOND + 50_000_000));
    }

    #[test]
    fn a_hang_delays_what_it_had_and_works_it_off_afterwards() {
        let mut server = server(OutageKind::Hang);
        let thaw = 15 * SECOND;
        assert_eq!(
            server.send(10 * SECOND - 10_000_000),
            Fate::Answered(thaw + 40_000_000)
        );
        let fates: Vec<Fate> = (0..5).map(|second| server.send((10 + second) * SECOND)).collect();
        assert_eq!(fates[0], Fate::Answered(thaw + 140_000_000));
        assert_eq!(fates[4], Fate::Silence);
        assert_eq!(server.send(thaw), Fate::Shed);
        // Four requests from the outage are still before it, whether anybody waits for them or not.
        assert_eq!(
            server.send(thaw + 100_000_000),
            Fate::Answered(thaw + 540_000_000)
        );
    }
}

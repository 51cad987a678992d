//! Verdicts that the database refuses for a while.

use super::World;
use crate::{
    Timestamp,
    store::{Settlement, Verdict},
};

impl World {
    pub(super) fn refuse(&mut self, crowded: bool) {
        if self.pending.is_empty() {
            return;
        }
        let settlement = self.pending.remove(0);
        let sent = matches!(
            settlement.verdict,
            Verdict::Delivered(_)
                | Verdict::Retry { .. }
                | Verdict::Dead {
                    attempted: Some(_),
                    ..
                }
        );
        // Messages are forgotten only where verdicts are refused that can be taken later.
        if crowded && !sent && !self.refused.is_empty() && self.window.drop_unsent(&settlement) {
            self.unread.insert(settlement.lease.shard);
            return;
        }
        self.window
            .set_aside(&settlement, Timestamp::from_millis(self.rows.now));
        self.refused.push(settlement);
    }

    pub(super) fn accept(&mut self, which: usize) {
        if self.refused.is_empty() {
            return;
        }
        let settlement = self.refused.remove(which % self.refused.len());
        self.rows.settle(&settlement);
        let next = self
            .window
            .settled(&settlement, Timestamp::from_millis(self.rows.now));
        self.pending.extend(next);
        if let Verdict::Counted { attempt } = settlement.verdict
            && self.window.is_aside(settlement.id, settlement.lease)
        {
            self.pending.push(Settlement {
                verdict: Verdict::Uncounted { attempt },
                ..settlement
            });
        }
        self.read_unread();
    }

    pub(super) fn read_unread(&mut self) {
        for shard in std::mem::take(&mut self.unread) {
            self.window.read_again(shard);
            self.rows.cursors.insert(shard, 0);
        }
    }
}

//! What is done to relays and their databases.

use std::time::Duration;

use redeliver::clock;
use rustix::process::Signal;

use super::{arena::Arena, error::Result, relay::LEASE};
use crate::history::DisturbanceKind;

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Torment {
    Kill,
    Stop,
    Restart,
    Cut,
    /// Asked to stop, and replaced: nothing of it may be sent twice for that.
    Leave,
}

impl Torment {
    pub(super) const ALL: [Self; 5] = [Self::Kill, Self::Stop, Self::Restart, Self::Cut, Self::Leave];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Cut => "cut",
            Self::Leave => "leave",
        }
    }
}

/// Until something of a killed relay's must have been sent by another. What is promised is a lease and a second; a machine that has
/// more to do than it can must not look like a relay that does not come back.
const PATIENCE: Duration = Duration::from_secs(20);

impl Arena {
    pub(super) async fn apply(&mut self, torment: Torment) -> Result<()> {
        // A random moment of its work: often still in what the one before left, sometimes long after.
        let wait = match self.rng.u32(0..3) {
            0 => self.rng.u64(600..1500),
            _ => self.rng.u64(50..600),
        };
        clock::sleep(Duration::from_millis(wait)).await;
        match torment {
            Torment::Kill => self.kill().await,
            Torment::Stop => self.stop().await,
            Torment::Restart => self.restart().await,
            Torment::Cut => self.cut().await,
            Torment::Leave => self.leave().await,
        }
    }

    /// Mostly one that has work: on SQLite a second relay only waits for the first to fail.
    fn victim(&mut self) -> usize {
        let slot = self.rng.usize(..self.relays.len());
        let idle = self.record.shards_of(self.relays[slot].run).is_empty();
        if idle && self.rng.u32(0..4) > 0 {
            (slot + 1) % self.relays.len()
        } else {
            slot
        }
    }

    async fn kill(&mut self) -> Result<()> {
        let slot = self.victim();
        let run = self.relays[slot].run;
        self.record.disturb(DisturbanceKind::Kill, Some(run));
        self.relays[slot].kill().await?;
        let shards = self.record.shards_of(run);
        // Where there is another relay, half of the time it must take over before the killed one is replaced.
        let alone = self.relays.len() == 1;
        if alone || self.rng.bool() {
            let wait = self.rng.u64(0..200);
            clock::sleep(Duration::from_millis(wait)).await;
            self.replace(slot).await?;
            self.await_takeover(&shards, run).await;
        } else {
            self.await_takeover(&shards, run).await;
            self.replace(slot).await?;
        }
        Ok(())
    }

    async fn await_takeover(&self, shards: &[u16], run: u32) {
        let taken = self.record.taken_over(shards, run);
        if tokio::time::timeout(PATIENCE, taken).await.is_err() {
            let what = format!(
                "{PATIENCE:?} after run {run} was killed nobody had sent anything of its shards {shards:?}"
            );
            self.record.object("recovery", what);
        }
    }

    async fn stop(&mut self) -> Result<()> {
        let slot = self.victim();
        let relay = &self.relays[slot];
        let beyond = LEASE.mul_f64(self.rng.f64().mul_add(1.5, 1.2));
        let stop = self.record.disturb(DisturbanceKind::Stop, Some(relay.run));
        relay.signal(Signal::STOP)?;
        clock::sleep(beyond).await;
        self.relays[slot].signal(Signal::CONT)?;
        self.record.over(stop);
        Ok(())
    }

    async fn leave(&mut self) -> Result<()> {
        let slot = self.victim();
        self.ask_to_stop(slot).await?;
        self.replace(slot).await
    }

    async fn restart(&mut self) -> Result<()> {
        let away = Duration::from_millis(self.rng.u64(0..1500));
        let restart = self.record.disturb(DisturbanceKind::Restart, None);
        let mut database = self.database.write().await;
        let restarted = database.restart(away).await;
        drop(database);
        self.record.over(restart);
        restarted
    }

    async fn cut(&mut self) -> Result<()> {
        let slot = self.rng.usize(..self.relays.len());
        let Some(proxy) = self.proxies.get(slot) else {
            return Ok(());
        };
        let cut = self
            .record
            .disturb(DisturbanceKind::Cut, Some(self.relays[slot].run));
        let silent = self.rng.u32(0..3) == 0;
        let span = Duration::from_millis(self.rng.u64(0..1800));
        if silent {
            proxy.silence();
            clock::sleep(span).await;
        }
        proxy.cut();
        if !silent {
            clock::sleep(span).await;
        }
        proxy.restore();
        self.record.over(cut);
        Ok(())
    }
}

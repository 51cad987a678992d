//! Actions that keep relays from their work for a while: refusals, locks, kills, restores and crashes.

use std::time::Duration;

use redeliver::clock;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    action::Refusal,
    case::{Fate, FaultKind},
    configuration::{LEASE, STEADY},
    record::micros,
    trial::Trial,
};
use crate::crash::{
    database::server::patiently,
    error::{Result, While as _},
};

/// How long a relay may take to notice that its tables were replaced.
const UNNOTICED: Duration = Duration::from_secs(2);
/// A refusal this long shows whether anything else waits for it.
const LONG: Duration = Duration::from_secs(8);
/// Until a message that nothing refuses is settled beside others that are.
const SETTLED_BESIDE: Duration = Duration::from_secs(5);

impl Trial {
    pub(super) async fn refuse(&mut self, refusal: Refusal) -> Result<()> {
        let family = self.host.family();
        let refusing = self.record.begin(FaultKind::Refusal, None);
        for sql in family.refuse(refusal) {
            self.change(&sql).await;
        }
        if refusal.is_long {
            clock::sleep(LONG).await;
            self.look_beside(refusal).await?;
        } else {
            let span = Duration::from_millis(self.rng.u64(200..1500));
            self.wait_or_kill(span).await?;
        }
        let home = self.home.read().await;
        patiently("drop the operator's trigger", async || {
            home.execute(&family.allow(refusal))
                .await
                .during("drop the trigger")
        })
        .await?;
        drop(home);
        self.record.end(refusing);
        Ok(())
    }

    /// Whether messages that the refusal does not concern are settled while it lasts.
    async fn look_beside(&self, refusal: Refusal) -> Result<()> {
        let live = self.rows(true).await?;
        let state = self.record.state();
        let before = self.record.now().saturating_sub(micros(SETTLED_BESIDE));
        let stalled = live.iter().find(|row| {
            let message = row.ticket.and_then(|ticket| state.case.messages.get(&ticket));
            row.number % i64::from(refusal.divisor) != 0
                && message.is_some_and(|message| {
                    // A lane may wait for a refused message, and an event's messages have other numbers.
                    message.destinations == [STEADY]
                        && message.key.is_none()
                        && message.fate == Fate::Delivered
                        && message.ended_at < before
                        && message.due_at < before
                })
        });
        let what = stalled.map(|row| {
            format!(
                "number {} is still {} after {SETTLED_BESIDE:?}, beside others that {refusal:?} concerns",
                row.number, row.status
            )
        });
        drop(state);
        if let Some(what) = what {
            self.record.object("stalled", what);
        }
        Ok(())
    }

    /// Waits; now and then a relay is killed meanwhile, and its successor begins in the middle.
    async fn wait_or_kill(&mut self, span: Duration) -> Result<()> {
        clock::sleep(span / 2).await;
        if self.rng.u32(0..3) == 0 {
            self.kill_one().await?;
        }
        clock::sleep(span / 2).await;
        Ok(())
    }

    /// Holds a table's lock, sometimes for longer than a lease.
    pub(super) async fn lock(&mut self, table: &str) -> Result<()> {
        let (lock, unlock) = self.host.family().lock(table);
        let mut connection = self.home.read().await.connect().await?;
        let locked = self.record.begin(FaultKind::Locked, None);
        if let Err(failure) = connection.execute(&lock).await {
            self.record.note(format!("{failure}: {lock}"));
        }
        let span = Duration::from_millis(self.rng.u64(100..2500));
        self.wait_or_kill(span).await?;
        drop(connection.execute(unlock).await);
        drop(connection);
        self.record.end(locked);
        Ok(())
    }

    /// Empties a side table. Without its row, a relay has lost its shards.
    pub(super) async fn empty(&mut self, table: &str) -> Result<()> {
        let sql = self.host.family().empty(table);
        if table != "redeliver_workers" {
            self.change(&sql).await;
            return Ok(());
        }
        let eviction = self.record.begin(FaultKind::Eviction, None);
        self.change(&sql).await;
        clock::sleep(LEASE).await;
        self.record.end(eviction);
        Ok(())
    }

    pub(super) async fn kill_one(&mut self) -> Result<()> {
        let slot = self.rng.usize(..self.relays.len());
        self.kill(slot).await?;
        let away = Duration::from_millis(self.rng.u64(0..300));
        clock::sleep(away).await;
        self.relays[slot] = self.start_relay().await?;
        Ok(())
    }

    pub(super) async fn leave(&mut self) -> Result<()> {
        let slot = self.rng.usize(..self.relays.len());
        self.stop(slot).await?;
        self.relays[slot] = self.start_relay().await?;
        Ok(())
    }

    /// Restores a copy of the database: one made with everything stopped, or an older one.
    pub(super) async fn restore(&mut self, older: bool) -> Result<()> {
        let mut copied = self.record.now();
        let mut copy = None;
        if older {
            copy = Some(self.home.read().await.copy().await?);
            let span = Duration::from_millis(self.rng.u64(200..800));
            clock::sleep(span).await;
        }
        for slot in 0..self.relays.len() {
            if self.rng.bool() {
                self.kill(slot).await?;
            } else {
                self.stop(slot).await?;
            }
        }
        // Producers have no transaction open while this is held.
        let mut home = self.home.write().await;
        let copy = match copy {
            Some(copy) => copy,
            None => {
                copied = self.record.now();
                home.copy().await?
            }
        };
        let fault = self.record.begin(FaultKind::Restore { copied }, None);
        self.restores += 1;
        let name = format!("trial_{}_{}", self.plan.seed, self.restores);
        let old = home.name.clone();
        home.restore(&copy, name).await?;
        home.drop_other(&old).await;
        self.record.end(fault);
        drop(home);
        for slot in 0..self.relays.len() {
            self.relays[slot] = self.start_relay().await?;
        }
        Ok(())
    }

    /// Replaces the database by a copy while relays run; producers wait meanwhile.
    pub(super) async fn switch(&mut self) -> Result<()> {
        let mut home = self.home.write().await;
        let copied = self.record.now();
        let copy = home.copy().await?;
        let restore = self.record.begin(FaultKind::Restore { copied }, None);
        let switch = self.record.begin(FaultKind::Switch, None);
        let name = home.name.clone();
        home.restore(&copy, format!("{name}_next")).await?;
        home.rename(name).await?;
        self.record.end(restore);
        drop(home);
        // A relay that still has the old tables may go on with them for a moment.
        clock::sleep(UNNOTICED).await;
        self.record.end(switch);
        Ok(())
    }

    pub(super) async fn kill_backend(&mut self) -> Result<()> {
        let home = self.home.read().await;
        let mut connection = home.connect().await?;
        let sql = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
                   AND backend_type = 'client backend' ORDER BY pid";
        let pids = connection.rows(sql).await.during("list the server's processes")?;
        drop(home);
        let pids: Vec<i32> = pids
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|pid| pid.parse().ok())
            .collect();
        let recovery = self.record.begin(FaultKind::Recovery, None);
        if let Some(pid) = self.rng.choice(&pids).copied().and_then(Pid::from_raw) {
            kill_process(pid, Signal::KILL).during("kill a process of the server")?;
        }
        self.host.recovered().await?;
        self.record.end(recovery);
        Ok(())
    }
}

//! How each action is carried out.

use std::{sync::Arc, time::Duration};

use redeliver::clock;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    action::{Action, DROP_COLUMN, Refusal},
    case::{Commit, FaultKind},
    database::{Failure, Home},
    producer::transact,
    record::Record,
    rows::HostileRow,
    trial::Trial,
};
use crate::crash::error::{Result, While as _};

/// How long a relay may take to notice that its tables were replaced.
const UNNOTICED: Duration = Duration::from_secs(2);

impl Trial {
    pub(super) async fn perform(&mut self, action: Action) -> Result<()> {
        let family = self.host.family();
        match action {
            Action::Rows(count) => self.hostile_rows(count).await,
            Action::Crowd(count) => self.crowd(count).await,
            Action::Large(count) => self.large_rows(count).await,
            Action::NumbersBack => {
                let by = self.rng.u32(1..200);
                let reset = self.record.begin(FaultKind::NumbersReset, None);
                self.change(&family.numbers_back(by)).await;
                self.record.end(reset);
                Ok(())
            }
            Action::NumbersForward => {
                let by = self.rng.u32(1..2_000_000);
                self.change(&family.numbers_forward(by)).await;
                Ok(())
            }
            Action::Rewrite => self.altered(family.rewrite()).await,
            Action::AddColumn => self.altered(family.add_column()).await,
            Action::LateCommit => self.late_commit().await,
            Action::Maintain(sql) => {
                self.change(sql).await;
                Ok(())
            }
            Action::Empty(table) => {
                self.change(&family.empty(table)).await;
                Ok(())
            }
            Action::Refuse(refusal) => self.refuse(refusal).await,
            Action::Lock(table) => self.lock(table).await,
            Action::Kill => self.kill_one().await,
            Action::Leave => self.leave().await,
            Action::Restore => self.restore(false).await,
            Action::RestoreOlder => self.restore(true).await,
            Action::Switch => self.switch().await,
            Action::KillBackend => self.kill_backend().await,
            Action::RestartServer => {
                let away = Duration::from_millis(self.rng.u64(0..500));
                let recovery = self.record.begin(FaultKind::Recovery, None);
                self.host.restart(away).await?;
                self.record.end(recovery);
                Ok(())
            }
        }
    }

    async fn change(&self, sql: &str) {
        change(&self.record, &*self.home.read().await, sql).await;
    }

    async fn altered(&mut self, sql: &str) -> Result<()> {
        self.change(sql).await;
        let while_there = Duration::from_millis(self.rng.u64(0..300));
        clock::sleep(while_there).await;
        self.change(DROP_COLUMN).await;
        Ok(())
    }

    async fn hostile_rows(&mut self, count: u32) -> Result<()> {
        let family = self.host.family();
        for _ in 0..count {
            let ticket = self.record.next_hostile();
            let row = HostileRow::draw(family, &mut self.rng, ticket);
            self.insert(&[(ticket, row)]).await?;
        }
        Ok(())
    }

    async fn large_rows(&mut self, count: u32) -> Result<()> {
        let family = self.host.family();
        for _ in 0..count {
            let ticket = self.record.next_hostile();
            let bytes = self.rng.usize(2 << 20..8 << 20);
            let row = HostileRow::large(family, &mut self.rng, ticket, bytes);
            self.insert(&[(ticket, row)]).await?;
        }
        Ok(())
    }

    /// Rows whose numbers the database has not given yet.
    async fn crowd(&mut self, count: u32) -> Result<()> {
        let family = self.host.family();
        let home = self.home.read().await;
        let mut connection = home.connect().await?;
        let first = connection
            .rows(family.above_all())
            .await
            .during("read the numbers")?;
        drop(home);
        let first = first.into_iter().flatten().flatten().next();
        let first: i64 = first.and_then(|text| text.parse().ok()).unwrap_or(5_000_000);
        let rows: Vec<_> = (0..i64::from(count))
            .map(|at| {
                let ticket = self.record.next_hostile();
                let number = (first + at).to_string();
                (
                    ticket,
                    HostileRow::numbered(family, &mut self.rng, ticket, &number),
                )
            })
            .collect();
        self.insert(&rows).await
    }

    /// Inserts rows that have the same columns in one statement.
    async fn insert(&self, rows: &[(u64, HostileRow)]) -> Result<()> {
        let mut sql = String::new();
        for (at, (ticket, row)) in rows.iter().enumerate() {
            self.record.insert_hostile(*ticket, row.what.clone(), row.due);
            if at == 0 {
                sql = row.insert();
            } else {
                sql.push_str(", ");
                sql.push_str(&row.values());
            }
        }
        let tickets: Vec<u64> = rows.iter().map(|(ticket, _)| *ticket).collect();
        let commit = match self.home.read().await.execute(&sql).await {
            Ok(()) => Commit::Committed,
            Err(Failure::Refused(_)) => Commit::RolledBack,
            Err(Failure::Lost(_)) => Commit::Unknown,
        };
        self.record.ended(&tickets, commit);
        Ok(())
    }

    /// A writer holds a row open while later rows are read and a rewrite waits for it.
    async fn late_commit(&mut self) -> Result<()> {
        let family = self.host.family();
        self.change(family.add_column()).await;
        let home = self.home.read().await;
        let mut writer = home.connect().await?;
        let drafts: Vec<_> = (0..3)
            .map(|_| self.shop.draft(family, None, &mut self.rng))
            .collect();
        let tickets: Vec<u64> = drafts.iter().map(|draft| draft.ticket).collect();
        let held = Duration::from_millis(self.rng.u64(300..700));
        drop(home);
        let ahead = Duration::from_millis(self.rng.u64(1..60));
        let (record, home) = (Arc::clone(&self.record), Arc::clone(&self.home));
        // In a task of its own: SQLite waits on its thread.
        let rewrite = tokio::spawn(async move {
            // The others' rows are read meanwhile; the change waits for the writer, and reads wait for the change.
            clock::sleep(held.saturating_sub(ahead)).await;
            change(&record, &*home.read().await, family.slow_rewrite()).await;
        });
        let ended = transact(&mut writer, family, &drafts, held, true).await;
        rewrite.await.during("rewrite the table")?;
        let commit = match ended {
            Ok(()) => Commit::Committed,
            Err(super::producer::Ended::AtCommit(Failure::Lost(_))) => Commit::Unknown,
            Err(_) => Commit::RolledBack,
        };
        self.record.ended(&tickets, commit);
        self.change(DROP_COLUMN).await;
        Ok(())
    }

    async fn refuse(&mut self, refusal: Refusal) -> Result<()> {
        let family = self.host.family();
        let refusing = self.record.begin(FaultKind::Refusal, None);
        for sql in family.refuse(refusal) {
            self.change(&sql).await;
        }
        let span = Duration::from_millis(self.rng.u64(200..1500));
        clock::sleep(span).await;
        let home = self.home.read().await;
        crate::crash::database::server::patiently("drop the operator's trigger", async || {
            home.execute(&family.allow(refusal))
                .await
                .during("drop the trigger")
        })
        .await?;
        drop(home);
        self.record.end(refusing);
        Ok(())
    }

    /// Holds a table's lock, sometimes for longer than a lease.
    async fn lock(&mut self, table: &str) -> Result<()> {
        let (lock, unlock) = self.host.family().lock(table);
        let mut connection = self.home.read().await.connect().await?;
        let locked = self.record.begin(FaultKind::Locked, None);
        if let Err(failure) = connection.execute(&lock).await {
            self.record.note(format!("{failure}: {lock}"));
        }
        let span = Duration::from_millis(self.rng.u64(100..2500));
        clock::sleep(span).await;
        drop(connection.execute(unlock).await);
        drop(connection);
        self.record.end(locked);
        Ok(())
    }

    async fn kill_one(&mut self) -> Result<()> {
        let slot = self.rng.usize(..self.relays.len());
        self.kill(slot).await?;
        let away = Duration::from_millis(self.rng.u64(0..300));
        clock::sleep(away).await;
        self.relays[slot] = self.start_relay().await?;
        Ok(())
    }

    async fn leave(&mut self) -> Result<()> {
        let slot = self.rng.usize(..self.relays.len());
        self.stop(slot).await?;
        self.relays[slot] = self.start_relay().await?;
        Ok(())
    }

    /// Copies the database, and goes on with the copy: at once with everything stopped, or after a while.
    async fn restore(&mut self, older: bool) -> Result<()> {
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
    async fn switch(&mut self) -> Result<()> {
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

    async fn kill_backend(&mut self) -> Result<()> {
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

/// A statement of the operator's. It may fail, as a deadlock does; that is noted.
async fn change(record: &Record, home: &Home, sql: &str) {
    let locked = record.begin(FaultKind::Locked, None);
    let changed = home.execute(sql).await;
    record.end(locked);
    if let Err(failure) = changed {
        record.note(format!("{failure}: {sql}"));
    }
}

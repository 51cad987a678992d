//! How each action is carried out.

use std::{sync::Arc, time::Duration};

use redeliver::clock;

use super::{
    action::Action,
    case::{Commit, FaultKind},
    database::{Failure, Home},
    producer::transact,
    record::Record,
    rows::HostileRow,
    statements::DROP_COLUMN,
    trial::Trial,
};
use crate::crash::error::{Result, While as _};

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
            Action::Empty(table) => self.empty(table).await,
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

    pub(super) async fn change(&self, sql: &str) {
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

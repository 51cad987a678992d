//! Workers one after the other in one place, each with its own end.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use redeliver::clock;
use redeliver_outbox::store::{Lease, WorkerId};
use tokio::sync::watch;

use crate::{
    life::{LEASE, Life},
    log::Log,
    server::{SHARDS, Server, Session},
};

pub(crate) const WORKERS: u16 = 3;
/// With one of them gone, the others can own everything.
const SHARE: u16 = SHARDS.div_ceil(WORKERS - 1);
/// What was committed when a shard is to be released must be read within this time. It is there to fail instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Place {
    pub(crate) number: u16,
    pub(crate) server: Arc<dyn Server>,
    pub(crate) log: Arc<Log>,
    /// How many rows a worker delivers at most before its end.
    pub(crate) longest_life: usize,
    pub(crate) writing: watch::Receiver<bool>,
}

enum End {
    /// Everything read that was committed, then released.
    Clean,
    /// Gone in the middle, and somebody has told the others.
    Killed,
    /// Gone in the middle: its lease has to end.
    Silent,
    /// Stands still until others own its shards, then goes on as if nothing had happened.
    Late,
}

impl Place {
    /// Until the writers have ended and everything is delivered.
    pub(crate) async fn work(self, mut rng: Rng) {
        let mut session = self.server.connect_beside().await;
        for generation in 1.. {
            let id = WorkerId(format!("worker-{}-{generation}", self.number));
            let (store, log) = (self.server.store(), Arc::clone(&self.log));
            let mut life = Life::new(id, store, log, rng.fork(), usize::from(SHARE));
            let writing = *self.writing.borrow();
            let all_done = self.live(&mut life, session.as_mut(), writing, &mut rng).await;
            match self.end(writing && *self.writing.borrow(), &mut rng) {
                End::Clean => {
                    read_everything(&mut life, session.as_mut()).await;
                    let leases = life.leases();
                    life.release(&leases).await;
                    life.leave().await;
                }
                End::Killed => life.leave().await,
                End::Silent => {}
                End::Late => go_on_late(&mut life, session.as_mut()).await,
            }
            if all_done {
                return;
            }
        }
    }

    /// Says whether there is nothing left to do for anyone.
    async fn live(&self, life: &mut Life, session: &mut dyn Session, writing: bool, rng: &mut Rng) -> bool {
        let most = rng.usize(self.longest_life / 20..self.longest_life);
        let mut gives_one_away = (writing && rng.bool()).then(|| rng.usize(..most));
        while (life.delivered < most || !writing) && writing == *self.writing.borrow() {
            let busy = life.turn().await;
            if gives_one_away.is_some_and(|after| life.delivered >= after) {
                gives_one_away = None;
                let one: Vec<Lease> = life.leases().into_iter().take(1).collect();
                life.release(&one).await;
            }
            if busy {
                continue;
            }
            if !writing && is_empty(session).await {
                return true;
            }
            clock::sleep(Duration::from_millis(rng.u64(2..10))).await;
        }
        false
    }

    fn end(&self, writing: bool, rng: &mut Rng) -> End {
        match rng.u8(..10) {
            _ if !writing => End::Clean,
            0..=3 => End::Clean,
            // Only in one place, so that there are others who take over.
            4..=6 if self.number == 0 => End::Late,
            4..=7 => End::Killed,
            _ => End::Silent,
        }
    }
}

async fn is_empty(session: &mut dyn Session) -> bool {
    let sql = "SELECT number FROM redeliver_outbox LIMIT 1";
    session.query(sql).await.unwrap().is_empty()
}

/// A takeover would hide what a reader has lost, because the next one begins at the first row. So whoever releases its shards has
/// first to read all that is committed.
async fn read_everything(life: &mut Life, session: &mut dyn Session) {
    let mut committed = Vec::new();
    for lease in life.leases() {
        let sql = format!(
            "SELECT number FROM redeliver_outbox WHERE shard = {}",
            lease.shard
        );
        let numbers = session.query(&sql).await.unwrap();
        committed.extend(numbers.into_iter().map(|number| (lease.shard, number)));
    }
    let until = clock::now().plus(PATIENCE);
    while !life.unread(&committed).is_empty() {
        if clock::now() > until {
            let unread = life.unread(&committed);
            life.complain(&unread);
            return;
        }
        if !life.turn().await {
            clock::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn go_on_late(life: &mut Life, session: &mut dyn Session) {
    life.fall_silent();
    let sql = format!("SELECT shard FROM redeliver_shards WHERE owner = '{}'", life.id);
    let until = clock::now().plus(LEASE * 5);
    while !session.query(&sql).await.unwrap().is_empty() && clock::now() < until {
        clock::sleep(Duration::from_millis(20)).await;
    }
    for _ in 0..3 {
        life.turn().await;
    }
}

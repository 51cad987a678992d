use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_core::future::BoxFuture;
use redeliver_outbox::{
    Held, Hold, Message, MessageId, NewHold, Timestamp,
    store::{
        Beat, Claimed, Demand, Found, Lease, Left, Membership, Reader, Result, Settled, Settlement, Store,
        WorkerId,
    },
};
use tokio::sync::oneshot;

const LEASE: Lease = Lease { shard: 0, epoch: 1 };

/// A store of so many messages that costs nothing to ask, and says when the last of them is settled.
#[derive(Debug)]
pub(crate) struct Idle {
    messages: usize,
    body: usize,
    unsettled: AtomicUsize,
    finish: Mutex<Option<oneshot::Sender<()>>>,
    claimed: AtomicUsize,
}

impl Idle {
    pub(crate) fn new(messages: usize, body: usize, finish: oneshot::Sender<()>) -> Self {
        Self {
            messages,
            body,
            unsettled: AtomicUsize::new(messages),
            finish: Mutex::new(Some(finish)),
            claimed: AtomicUsize::new(0),
        }
    }
}

impl Store for Idle {
    fn beat<'a>(&'a self, _: &'a Beat) -> BoxFuture<'a, Result<Membership>> {
        let owned = self.claimed.load(Ordering::Relaxed) > 0;
        Box::pin(async move {
            Ok(Membership {
                now: Timestamp::wall(),
                workers: 1,
                shards: 1,
                owned: owned.then_some(LEASE).into_iter().collect(),
                claimable: usize::from(!owned),
                next_expiry: None,
                holds: Vec::new(),
            })
        })
    }

    fn claim<'a>(&'a self, _: &'a WorkerId, _: usize, _: u32) -> BoxFuture<'a, Result<Vec<Claimed>>> {
        self.claimed.store(1, Ordering::Relaxed);
        Box::pin(async {
            Ok(vec![Claimed {
                lease: LEASE,
                left: Left::Clean,
                highest: 0,
                parked: Vec::new(),
            }])
        })
    }

    fn release<'a>(&'a self, _: &'a WorkerId, _: &'a [Lease], _: bool) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn leave<'a>(&'a self, _: &'a WorkerId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Rows {
            next: 1,
            last: self.messages,
            body: Arc::from("x".repeat(self.body)),
        })
    }

    fn unpark<'a>(&'a self, _: &'a [u16], _: &'a str, _: usize) -> BoxFuture<'a, Result<usize>> {
        Box::pin(async { Ok(0) })
    }

    fn unpark_others<'a>(&'a self, _: &'a [u16], _: &'a [String], _: usize) -> BoxFuture<'a, Result<usize>> {
        Box::pin(async { Ok(0) })
    }

    fn hold<'a>(&'a self, worker: &'a WorkerId, hold: &'a NewHold) -> BoxFuture<'a, Result<Held>> {
        Box::pin(async {
            let hold = Hold {
                destination: hold.destination.clone(),
                kind: hold.cause.kind(),
                cause: hold.cause,
                detail: hold.detail.clone(),
                who: worker.to_string(),
                since: Timestamp::wall(),
            };
            Ok(Held { hold, new: true })
        })
    }

    fn settle<'a>(
        &'a self,
        _: &'a WorkerId,
        settlements: &'a [Settlement],
    ) -> BoxFuture<'a, Result<Settled>> {
        let before = self.unsettled.fetch_sub(settlements.len(), Ordering::Relaxed);
        if before == settlements.len()
            && let Ok(mut finish) = self.finish.lock()
            && let Some(finish) = finish.take()
        {
            let _ = finish.send(());
        }
        Box::pin(async { Ok(Settled::default()) })
    }
}

#[derive(Debug)]
struct Rows {
    next: usize,
    last: usize,
    body: Arc<str>,
}

impl Reader for Rows {
    fn own(&mut self, _: Lease) {}

    fn disown(&mut self, _: u16) {}

    fn read<'a>(&'a mut self, demand: &'a Demand) -> BoxFuture<'a, Result<Found>> {
        let end = self.last.min(self.next + demand.fresh - 1);
        let fresh = (self.next..=end)
            .map(|number| message(number, &self.body))
            .collect();
        self.next = self.next.max(end + 1);
        let more = self.next <= self.last;
        Box::pin(async move {
            Ok(Found {
                now: Timestamp::wall(),
                fresh,
                more,
                caught_up: vec![0],
                ..Found::default()
            })
        })
    }
}

fn message(number: usize, body: &str) -> Message {
    Message {
        id: MessageId::new(i64::try_from(number).unwrap_or(i64::MAX), 7),
        shard: 0,
        destination: "hook".to_owned(),
        topic: None,
        key: None,
        payload: body.into(),
        content_type: None,
        headers: None,
        traceparent: None,
        not_before: None,
        expires_at: None,
        created_at: Timestamp::wall(),
        attempts: 0,
        redrives: 0,
        next_attempt_at: None,
        last_attempt_at: None,
        last_error: None,
        last_wait_ms: 0,
        interrupted: false,
        withheld: None,
        unreadable_key: false,
    }
}

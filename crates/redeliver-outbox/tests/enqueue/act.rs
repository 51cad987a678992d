//! What a client does in one transaction, written down, so that blocking and async ones can be told alike.

use std::time::Duration;

use redeliver_outbox::{EnqueueError, Enqueued, Inbox, NewMessage, Seen, store::StoreError};
use tokio::sync::oneshot;

pub(crate) enum Act {
    Enqueue(NewMessage),
    EnqueueAll(Vec<NewMessage>),
    /// Sees a message, and enqueues another if it is the first time.
    Once(Inbox, String, NewMessage),
    Forget(Inbox, Duration, usize),
    /// Says that it has come this far, and goes on when it is told to.
    Pause(oneshot::Sender<()>, oneshot::Receiver<()>),
}

#[derive(Debug)]
pub(crate) enum Said {
    One(Result<Enqueued, EnqueueError>),
    All(Result<Vec<Enqueued>, EnqueueError>),
    Seen(Result<Seen, StoreError>),
    Forgotten(Result<u64, StoreError>),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Commit,
    RollBack,
}

impl Said {
    pub(crate) fn one(self) -> Enqueued {
        match self {
            Self::One(enqueued) => enqueued.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn all(self) -> Vec<Enqueued> {
        match self {
            Self::All(enqueued) => enqueued.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn seen(self) -> Seen {
        match self {
            Self::Seen(seen) => seen.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn forgotten(self) -> u64 {
        match self {
            Self::Forgotten(count) => count.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn refusal(self) -> EnqueueError {
        match self {
            Self::One(Err(error)) | Self::All(Err(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}

/// `$transaction` is written out before each use, `$pause` waits, and `$wait` is `.await` or nothing.
macro_rules! act {
    ($outbox:expr, $act:expr, $transaction:expr, |$gate:ident| $pause:expr $(, $wait:tt)?) => {
        match $act {
            Act::Enqueue(message) => Said::One($outbox.enqueue($transaction, &message)$(.$wait)?),
            Act::EnqueueAll(messages) => Said::All($outbox.enqueue_all($transaction, &messages)$(.$wait)?),
            Act::Once(inbox, id, message) => {
                let seen = inbox.once($transaction, id)$(.$wait)?;
                if matches!(seen, Ok(redeliver_outbox::Seen::First)) {
                    let _enqueued = $outbox.enqueue($transaction, &message)$(.$wait)?.unwrap();
                }
                Said::Seen(seen)
            }
            Act::Forget(inbox, older_than, limit) => {
                Said::Forgotten(inbox.forget($transaction, older_than, limit)$(.$wait)?)
            }
            Act::Pause(arrived, $gate) => {
                arrived.send(()).unwrap();
                $pause.unwrap();
                Said::Nothing
            }
        }
    };
}
pub(crate) use act;

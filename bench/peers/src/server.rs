//! The far side of every call: it fails as told, and remembers when it was called.

use std::cell::RefCell;
use std::fmt;
use std::hint::black_box;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// What a refused call comes back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The server's own wish for the next attempt, as a `Retry-After` header would carry it.
    pub(crate) retry_after: Option<Duration>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.retry_after {
            Some(wait) => write!(f, "refused, come back in {wait:?}"),
            None => f.write_str("refused"),
        }
    }
}

impl std::error::Error for Refused {}

/// One call as the server saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) came: Instant,
    pub(crate) answered: Option<Instant>,
}

/// A dependency that refuses, with the hints it was given and then, if told so, without end.
#[derive(Debug)]
pub(crate) struct Server {
    hints: Vec<Duration>,
    recovers: bool,
    work: Duration,
    seen: RefCell<Vec<Seen>>,
}

impl Server {
    /// Refuses once per hint, then answers.
    pub(crate) fn hinting(hints: &[Duration]) -> Self {
        Self {
            hints: hints.to_vec(),
            recovers: true,
            work: Duration::ZERO,
            seen: RefCell::default(),
        }
    }

    /// Refuses every call, each after `work`.
    pub(crate) fn down(work: Duration) -> Self {
        Self {
            hints: Vec::new(),
            recovers: false,
            work,
            seen: RefCell::default(),
        }
    }

    /// One attempt.
    pub(crate) async fn call(&self) -> Result<(), Refused> {
        let number = self.seen.borrow().len();
        self.seen.borrow_mut().push(Seen {
            came: Instant::now(),
            answered: None,
        });
        if !self.work.is_zero() {
            sleep(self.work).await;
        }
        self.seen.borrow_mut()[number].answered = Some(Instant::now());
        match self.hints.get(number) {
            Some(hint) => Err(Refused {
                retry_after: Some(*hint),
            }),
            None if self.recovers => Ok(()),
            None => Err(Refused { retry_after: None }),
        }
    }

    /// Every call so far, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.borrow().clone()
    }
}

/// A call that succeeds at once: what the first-try law retries, and awaits bare to compare with.
///
/// It could have had to wait, as every call worth retrying can. One that cannot is no await at all: the compiler makes
/// straight code of it, and what would be measured is that.
pub(crate) async fn answer() -> Result<u64, Refused> {
    if black_box(false) {
        tokio::task::yield_now().await;
    }
    Ok(reply())
}

/// Kept out of line so that no caller can fold the whole call away.
#[inline(never)]
fn reply() -> u64 {
    black_box(7)
}

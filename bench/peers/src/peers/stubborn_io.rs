//! stubborn-io: reconnects readers and writers; its strategy is an iterator of durations.

use std::time::Duration;

use stubborn_io::strategies::{ExpBackoffIter, ExpBackoffStrategy};

use crate::peer::{BASE, CAP, Peer, Schedule};

pub(crate) struct StubbornIo;

impl Schedule for ExpBackoffIter {
    /// The strategy does not clone: the crate takes a function that builds one for every reconnection.
    type Settings = fn() -> ExpBackoffStrategy;

    fn settings() -> Self::Settings {
        || ExpBackoffStrategy::new(BASE, 2.0, 1.0).with_max(CAP)
    }

    fn start(settings: &Self::Settings) -> Self {
        settings().into_iter()
    }

    fn next_wait(&mut self) -> Option<Duration> {
        self.next()
    }
}

impl Peer for StubbornIo {
    const PACKAGE: &'static str = "stubborn-io";
    const SETTINGS: &'static str = "ExpBackoffStrategy with_max and jitter 1.0, the widest that stays positive; it \
                                    reconnects streams and retries no calls";

    type Schedule = ExpBackoffIter;
}

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use redeliver_policy::Moment;

use crate::clock::{self, Timer};

/// Notices silence. It looks at the clock per item and sets its timer only when it fires: items come far more often than silence.
#[derive(Debug)]
pub(crate) struct Idle {
    longest: Duration,
    timer: Timer,
    last: Moment,
}

impl Idle {
    pub(crate) fn new(longest: Duration) -> Self {
        Self {
            longest,
            timer: Timer::limit(longest),
            last: clock::now(),
        }
    }

    /// Something came.
    pub(crate) fn heard(&mut self) {
        self.last = clock::now();
    }

    /// Ready with the limit once nothing came for so long.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Duration> {
        loop {
            ready!(Pin::new(&mut self.timer).poll(context));
            let left = self.longest.saturating_sub(clock::now().since(self.last));
            if left.is_zero() {
                return Poll::Ready(self.longest);
            }
            self.timer = Timer::limit(left);
        }
    }
}

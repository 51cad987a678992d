use std::{sync::Arc, time::Duration};

use crate::{Observer, RetryEvent, StopEvent};

/// The client's observer and the call's own.
pub(crate) struct Observers(pub(crate) [Option<Arc<dyn Observer + Send + Sync>>; 2]);

impl Observers {
    fn each(&self, tell: impl Fn(&dyn Observer)) {
        for observer in self.0.iter().flatten() {
            tell(observer);
        }
    }
}

impl Observer for Observers {
    fn on_retry(&self, event: &RetryEvent<'_>) {
        self.each(|observer| observer.on_retry(event));
    }

    fn on_hold(&self, attempt: u32, wait: Duration) {
        self.each(|observer| observer.on_hold(attempt, wait));
    }

    fn on_stop(&self, event: &StopEvent<'_>) {
        self.each(|observer| observer.on_stop(event));
    }

    fn on_recovery(&self, attempts: u32) {
        self.each(|observer| observer.on_recovery(attempts));
    }
}

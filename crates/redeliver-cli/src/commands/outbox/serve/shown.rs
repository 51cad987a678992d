//! The destination `log` of a relay that shows messages: what could not be shown was not delivered.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use redeliver::Class;
use redeliver_outbox::destination::{Delivery, Destination, Outcome, Route, Routes};
use tokio::sync::Notify;

use crate::output;

/// Told when standard output takes nothing more.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader(Arc<Notify>);

impl Reader {
    /// The same destinations, of which those that show messages notice that nobody can see them.
    pub(super) fn of(&self, routes: &Routes) -> Routes {
        routes.iter().fold(routes.clone(), |all, (name, route)| {
            let mut route: Route = route.clone();
            if route.destination.kind() == "log" {
                let (log, reader) = (route.destination, self.clone());
                route.destination = Arc::new(Shown { log, reader });
            }
            all.with(name, route)
        })
    }

    /// Waits until it is gone.
    pub(super) async fn gone(&self) {
        self.0.notified().await;
    }
}

#[derive(Debug)]
struct Shown {
    log: Arc<dyn Destination>,
    reader: Reader,
}

impl Destination for Shown {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            // It writes before it returns.
            let outcome = match output::is_broken() {
                true => Outcome::Delivered,
                false => self.log.deliver(delivery).await,
            };
            if !output::is_broken() {
                return outcome;
            }
            self.reader.0.notify_one();
            Outcome::Retry {
                class: Class::Transient,
                reason: "standard output cannot be written to".to_owned(),
            }
        })
    }

    fn kind(&self) -> &'static str {
        self.log.kind()
    }
}

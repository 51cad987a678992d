use std::sync::{Arc, Mutex};

use redeliver::{Class, Classified};
use redeliver_outbox::destination::{Destination, Handler, Outcome};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{
    deliver, message,
    suite::{self, Bench, Given, Mood, Received},
};

/// Tells when it is dropped.
pub(crate) struct Dropped(pub(crate) UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

struct Closure {
    handler: Arc<Handler>,
    mood: Arc<Mutex<Mood>>,
    received: UnboundedReceiver<Received>,
    given_up: UnboundedReceiver<()>,
}

fn closure() -> Closure {
    let mood = Arc::new(Mutex::new(Mood::Takes));
    let (sender, received) = unbounded_channel();
    let (dropped, given_up) = unbounded_channel();
    let shared = Arc::clone(&mood);
    let handler = Handler::new(move |delivery| {
        let (mood, sender, dropped) = (*shared.lock().unwrap(), sender.clone(), dropped.clone());
        async move {
            let guard = (mood == Mood::Hangs).then(|| Dropped(dropped));
            sender
                .send(Received {
                    id: delivery.message.id.to_string(),
                    attempt: delivery.attempt,
                    payload: Given::Whole(delivery.message.payload.as_bytes().to_vec()),
                })
                .unwrap();
            match mood {
                Mood::Takes => Ok(()),
                Mood::Refuses => Err(Classified::transient("too busy")),
                Mood::Hangs => {
                    let never: Result<(), Classified<&str>> = std::future::pending().await;
                    drop(guard);
                    never
                }
            }
        }
    });
    Closure {
        handler: Arc::new(handler),
        mood,
        received,
        given_up,
    }
}

impl Bench for Closure {
    const MOODY: bool = true;

    fn destination(&self) -> Arc<dyn Destination> {
        Arc::clone(&self.handler) as _
    }

    fn feel(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    async fn received(&mut self) -> Received {
        self.received.recv().await.unwrap()
    }

    async fn given_up(&mut self) {
        self.given_up.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_handler_keeps_to_the_suite() {
    suite::run(closure()).await;
}

#[tokio::test]
async fn a_panic_is_a_failure_of_one_attempt() {
    let text = |delivery: u32| -> Outcome { panic!("no attempt {delivery}, not ever\n") };
    for handler in [
        Handler::new(move |delivery| async move { text(delivery.attempt) }),
        // Before there is a future.
        Handler::new(move |delivery| std::future::ready(text(delivery.attempt))),
    ] {
        let expected = Outcome::Retry {
            class: Class::Transient,
            reason: "the handler panicked: no attempt 3, not ever".to_owned(),
        };
        assert_eq!(deliver(&handler, &message("{}"), 3).await, expected);
    }
}

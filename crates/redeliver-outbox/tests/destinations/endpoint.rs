//! An HTTP destination and its server, for the suite.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use redeliver_outbox::destination::{Destination, Http};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{
    handler::Dropped,
    server::{Reply, Server, answer},
    suite::{Bench, Given, Mood, Received},
};

pub(crate) struct Endpoint {
    pub(crate) http: Arc<Http>,
    pub(crate) server: Server,
    mood: Arc<Mutex<Mood>>,
    given_up: UnboundedReceiver<()>,
}

/// How the server of an [`Endpoint`] answers.
pub(crate) struct Moody {
    mood: Arc<Mutex<Mood>>,
    dropped: UnboundedSender<()>,
}

impl Moody {
    pub(crate) fn reply(&self) -> Reply {
        let mood = *self.mood.lock().unwrap();
        let guard = (mood == Mood::Hangs).then(|| Dropped(self.dropped.clone()));
        async move {
            match mood {
                Mood::Takes => answer(202, &[], "thank you"),
                Mood::Refuses => answer(503, &[], "too busy"),
                Mood::Hangs => {
                    std::future::pending::<()>().await;
                    drop(guard);
                    answer(500, &[], "")
                }
            }
        }
        .boxed()
    }
}

impl Endpoint {
    pub(crate) async fn start(connect: impl AsyncFnOnce(Moody) -> (Server, Http)) -> Self {
        let mood = Arc::new(Mutex::new(Mood::Takes));
        let (dropped, given_up) = unbounded_channel();
        let moody = Moody {
            mood: Arc::clone(&mood),
            dropped,
        };
        let (server, http) = connect(moody).await;
        Self {
            http: Arc::new(http),
            server,
            mood,
            given_up,
        }
    }

    pub(crate) async fn plain() -> Self {
        Self::start(async |moody: Moody| {
            let server = Server::start(move |_| moody.reply()).await;
            let http = Http::to(server.url()).allow_private(true).build().unwrap();
            (server, http)
        })
        .await
    }
}

impl Bench for Endpoint {
    const MOODY: bool = true;

    fn destination(&self) -> Arc<dyn Destination> {
        Arc::clone(&self.http) as _
    }

    fn feel(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    async fn received(&mut self) -> Received {
        let seen = self.server.seen().await;
        Received {
            id: seen.header("idempotency-key").unwrap().to_owned(),
            attempt: seen.header("redeliver-attempt").unwrap().parse().unwrap(),
            payload: Given::Whole(seen.body.to_vec()),
        }
    }

    async fn given_up(&mut self) {
        self.given_up.recv().await.unwrap();
    }
}

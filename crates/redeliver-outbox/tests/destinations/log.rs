use std::{
    io,
    sync::{Arc, Mutex},
};

use redeliver_outbox::destination::{Destination, Log};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    deliver, message,
    suite::{self, Bench, Given, Mood, Received},
};

/// The log as lines of JSON.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Lines {
    fn keep(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_writer(self.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    /// The first line, which is forgotten.
    fn take(&self) -> serde_json::Value {
        let mut lines = self.0.lock().unwrap();
        let end = lines.iter().position(|&byte| byte == b'\n').unwrap();
        let line: Vec<u8> = lines.drain(..=end).collect();
        serde_json::from_slice(&line).unwrap()
    }
}

impl Bench for Lines {
    const MOODY: bool = false;

    fn destination(&self) -> Arc<dyn Destination> {
        Arc::new(Log)
    }

    fn feel(&self, mood: Mood) {
        assert_eq!(mood, Mood::Takes);
    }

    async fn received(&mut self) -> Received {
        let fields = &self.take()["fields"];
        Received {
            id: fields["id"].as_str().unwrap().to_owned(),
            attempt: fields["attempt"].as_u64().unwrap().try_into().unwrap(),
            payload: Given::Start {
                length: fields["bytes"].as_u64().unwrap().try_into().unwrap(),
                text: fields["payload"].as_str().unwrap().to_owned(),
            },
        }
    }

    async fn given_up(&mut self) {}
}

#[tokio::test]
async fn the_log_keeps_to_the_suite() {
    let lines = Lines::default();
    let _kept = lines.keep();
    suite::run(lines).await;
}

#[tokio::test]
async fn one_event_tells_the_whole_message() {
    let lines = Lines::default();
    let _kept = lines.keep();
    deliver(&Log, &message("{\"order\":7}"), 2).await;
    let line = lines.take();
    assert_eq!(line["target"], "redeliver::log");
    let fields = serde_json::json!({
        "message": "message",
        "id": message("").id.to_string(),
        "destination": "billing",
        "key": "order-7",
        "attempt": 2,
        "bytes": 11,
        "payload": "{\"order\":7}",
    });
    assert_eq!(line["fields"], fields);
}

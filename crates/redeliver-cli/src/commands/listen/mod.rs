//! `redeliver listen`: a receiver for whoever builds one.

mod figures;
mod flags;
mod inbox;
mod shown;
mod verdict;

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use redeliver_lab::receiver::{Answer, Arrival, Receiver, ReceiverConfig, Recent};
use redeliver_outbox::destination::webhook::Secret;
use serde_json::json;
use tokio::sync::Notify;

pub(crate) use self::flags::ListenArgs;
use self::{
    figures::Figures,
    inbox::Consumer,
    shown::Told,
    verdict::{Signature, Verdict, fails},
};
use crate::{
    ending::{ended_by, told_to_end},
    exit::Exit,
    output,
};

/// So many ids are remembered.
const REMEMBERED: usize = 65_536;
/// The longest id that is taken for one, in bytes.
const LONGEST_ID: usize = 255;
/// How long answers that are on their way may still take at the end.
const GRACE: Duration = Duration::from_secs(1);

pub(crate) async fn run(args: ListenArgs) -> anyhow::Result<Exit> {
    let secrets = args.secrets()?;
    let consumer = args.inbox.as_deref().map(Consumer::open).transpose()?;
    let told = told_to_end().context("cannot listen for signals")?;
    let mut end = pin!(ended_by(told, args.run_for));
    let config = ReceiverConfig {
        listen: args.address(),
        ..ReceiverConfig::default()
    };
    let listening = Arc::new(Listening {
        secrets,
        consumer,
        memory: Mutex::new(Memory {
            ids: Recent::new(REMEMBERED),
            figures: Figures::default(),
        }),
        enough: Notify::new(),
        args,
    });
    let shared = Arc::clone(&listening);
    let answer = move |arrival| {
        let listening = Arc::clone(&shared);
        async move { listening.receive(arrival).await }
    };
    let receiver = Receiver::start(config, answer).with_context(|| {
        let address = config.listen;
        format!("cannot listen on {address}; choose another --port or --bind, or --port 0 for a free one")
    })?;
    let args = &listening.args;
    let url = format!("http://{}", receiver.address());
    match args.json {
        true => output::json(&json!({ "listening": url })),
        false => output::line(&format!("listening on {url}")),
    }
    tokio::select! {
        () = &mut end => {}
        () = listening.enough.notified() => {}
    }
    receiver.shutdown(args.delay + GRACE).await;
    let figures = listening.memory().figures.clone();
    match args.json {
        true => output::json(&json!({ "summary": figures })),
        false => output::line(&figures.words()),
    }
    Ok(if figures.is_clean() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

struct Listening {
    args: ListenArgs,
    secrets: Vec<Secret>,
    consumer: Option<Consumer>,
    memory: Mutex<Memory>,
    /// As many requests as were asked for have come.
    enough: Notify,
}

struct Memory {
    ids: Recent<Known>,
    figures: Figures,
}

/// What is known of an id.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    deliveries: u64,
    taken: bool,
}

impl Listening {
    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn receive(&self, arrival: Arrival) -> Answer {
        let id = arrival.header("webhook-id").or(arrival.header("idempotency-key"));
        let id = id.filter(|id| (1..=LONGEST_ID).contains(&id.len()));
        let (number, before) = self.open(id);
        let signature = match &arrival.body {
            Ok(body) => Signature::of(&arrival, body, &self.secrets, self.args.tolerance),
            Err(_) => Signature::Unchecked,
        };
        let delivery = before.deliveries + 1;
        let verdict = self.judge(&arrival, id, &signature, number, delivery).await;
        let answer = verdict.answer(&self.args, &signature);
        let told = Told {
            arrival: &arrival,
            id,
            delivery,
            duplicate: before.taken,
            signature: &signature,
            verdict: &verdict,
            answer: &answer,
        };
        self.close(&told);
        answer
    }

    /// The number of the request, and what is known of its id.
    fn open(&self, id: Option<&str>) -> (u64, Known) {
        let mut memory = self.memory();
        let number = memory.figures.begin();
        let Some(id) = id else {
            return (number, Known::default());
        };
        let known = memory.ids.entry(id);
        let before = *known;
        known.deliveries += 1;
        (number, before)
    }

    async fn judge(
        &self,
        arrival: &Arrival,
        id: Option<&str>,
        signature: &Signature,
        number: u64,
        delivery: u64,
    ) -> Verdict {
        let body = match &arrival.body {
            Ok(body) => body,
            Err((status, words)) => return Verdict::Unread(*status, words.clone()),
        };
        if !signature.is_believed() {
            return Verdict::Unbelieved;
        }
        let fails = fails(&self.args, number, delivery);
        if let Some(why) = &fails
            && !self.args.hang
        {
            return Verdict::Fails(why.clone());
        }
        let done = match (&self.consumer, id) {
            (Some(consumer), Some(id)) => match consumer.work(id.to_owned(), body.to_vec()).await {
                Ok(seen) => Verdict::of(seen),
                Err(error) => return Verdict::Undone(format!("the inbox: {error}")),
            },
            _ => Verdict::Taken,
        };
        fails.map_or(done, Verdict::Fails)
    }

    /// Tells it and counts it, in one go: what is told stands in the order in which it is counted.
    fn close(&self, told: &Told<'_>) {
        let mut memory = self.memory();
        let worked_on = match told.verdict {
            Verdict::Taken | Verdict::Skipped => true,
            Verdict::Fails(_) => self.args.hang,
            _ => false,
        };
        if let Some(id) = told.id.filter(|_| worked_on) {
            memory.ids.entry(id).taken = true;
        }
        let first = told.id.is_some() && told.delivery == 1;
        memory
            .figures
            .count(told.verdict, told.signature, first, told.duplicate);
        match self.args.json {
            true => output::json(&told.form(self.args.shown)),
            false => output::line(&told.words(self.args.shown)),
        }
        if self
            .args
            .count
            .is_some_and(|count| memory.figures.requests >= count)
        {
            self.enough.notify_one();
        }
    }
}

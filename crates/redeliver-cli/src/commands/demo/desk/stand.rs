//! Where everything is watched from: the shop is kept at work, and what is worth a word is told.

use std::{collections::BTreeMap, pin::pin, time::Duration};

use redeliver::{Moment, clock};
use redeliver_lab::faulty::RequestRecord;
use redeliver_outbox::desk::{Figures, MessageRef};
use tokio::sync::{
    broadcast::{self, error::RecvError},
    mpsc,
};

use super::{
    super::narrator::{Actor, Narrator},
    heard::Heard,
    news::{Event, News},
    producer::Producer,
    setting,
    watcher::Sighting,
};
use crate::{commands::outbox::serve::Hosted, output, readable};

/// How often the figures are looked at. A look that takes long is made less often, so that looking is never the load.
const LOOK: Duration = Duration::from_millis(250);

/// The most characters of the line of progress.
const PROGRESS: usize = 79;

/// How often a person is told of the same thing at the same place; after that, the dashboard and the line of progress tell.
const fn most(event: &str) -> u32 {
    match event.as_bytes() {
        b"dead_letters" => 8,
        _ => 2,
    }
}

/// What comes next.
enum Next {
    Over,
    Time,
    Saw(Sighting),
    Heard(Result<RequestRecord, RecvError>),
}

pub(super) struct Stand<'a> {
    hosted: &'a Hosted,
    narrator: &'a Narrator,
    next_look: Moment,
    /// The figures at the last look.
    figures: Option<Figures>,
    told: BTreeMap<(&'static str, String), u32>,
    notes: Notes,
}

/// What was seen and heard.
pub(super) struct Notes {
    pub(super) producer: Producer,
    pub(super) news: News,
    pub(super) heard: Heard,
    sightings: mpsc::UnboundedReceiver<Sighting>,
    records: broadcast::Receiver<RequestRecord>,
}

impl<'a> Stand<'a> {
    pub(super) fn new(
        hosted: &'a Hosted,
        narrator: &'a Narrator,
        producer: Producer,
        sightings: mpsc::UnboundedReceiver<Sighting>,
        records: broadcast::Receiver<RequestRecord>,
    ) -> Self {
        Self {
            hosted,
            narrator,
            next_look: clock::now(),
            figures: None,
            told: BTreeMap::new(),
            notes: Notes {
                producer,
                news: News::default(),
                heard: Heard::default(),
                sightings,
                records,
            },
        }
    }

    /// The shop works until it is over, or until nobody reads what is told.
    pub(super) async fn watch(&mut self, over: impl Future<Output = ()>) -> anyhow::Result<()> {
        let mut over = pin!(over);
        while !output::is_broken() {
            let now = clock::now();
            if now >= self.notes.producer.due() {
                self.notes.producer.work(now)?;
            }
            let until = self.notes.producer.due();
            if !self.step(until, &mut over).await? {
                break;
            }
        }
        Ok(())
    }

    /// The relay works until nothing is left that can be delivered, for so long at most.
    pub(super) async fn drain(&mut self, at_most: Duration) -> anyhow::Result<()> {
        let end = clock::now().plus(at_most);
        // What the last look saw was before the shop's last order.
        self.next_look = clock::now();
        self.figures = None;
        while clock::now() < end && self.figures.is_none_or(|figures| is_anything_due(&figures)) {
            self.step(end, std::future::pending()).await?;
        }
        self.narrator.progress("");
        Ok(())
    }

    pub(super) fn leave(self) -> Notes {
        self.notes
    }

    /// One thing that happens, until a time at most. Says whether it goes on.
    async fn step(&mut self, until: Moment, over: impl Future<Output = ()>) -> anyhow::Result<bool> {
        if clock::now() >= self.next_look {
            self.look().await?;
        }
        let pause = until.min(self.next_look).since(clock::now());
        let next = tokio::select! {
            () = over => Next::Over,
            Some(sighting) = self.notes.sightings.recv() => Next::Saw(sighting),
            record = self.notes.records.recv() => Next::Heard(record),
            () = clock::sleep(pause) => Next::Time,
        };
        match next {
            Next::Over => return Ok(false),
            Next::Time => {}
            Next::Saw(sighting) => self.saw(sighting).await?,
            Next::Heard(record) => self.notes.heard.hear(record),
        }
        Ok(true)
    }

    async fn saw(&mut self, mut sighting: Sighting) -> anyhow::Result<()> {
        if let Sighting::Dead {
            id,
            destination: destination @ None,
            ..
        } = &mut sighting
        {
            let found = self.hosted.desk().find(MessageRef::Id(*id)).await?;
            *destination = found.map(|detail| detail.record.destination);
        }
        if let Some(event) = self.notes.news.saw(&sighting) {
            self.tell(event);
        }
        Ok(())
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        let start = clock::now();
        let report = self.hosted.desk().status().await?;
        for event in self.notes.news.looked(&report) {
            self.tell(event);
        }
        self.figures = Some(report.total);
        self.narrator.progress(&self.progress(&report.total));
        let took = clock::now().since(start);
        self.next_look = start.plus(LOOK.max(took.saturating_mul(10)));
        Ok(())
    }

    fn progress(&self, figures: &Figures) -> String {
        let written = &self.notes.producer.written;
        let mut words = format!(
            "{}  {} orders, {} rolled back; {} sent, {} waiting, {} dead",
            self.narrator.elapsed(),
            written.orders,
            written.orders_rolled_back,
            figures.sent,
            figures.due_now + figures.waiting + figures.put_away + figures.parked,
            figures.dead,
        );
        for (destination, state) in self.notes.news.unwell() {
            words.push_str(&format!("; {destination} {state}"));
        }
        // A longer one would not fit on one line, and then not be replaced.
        readable::line(&words, PROGRESS)
    }

    fn tell(&mut self, event: Event) {
        let Event {
            name,
            destination,
            words,
            mut figures,
        } = event;
        let told = self.told.entry((name, destination.clone())).or_default();
        *told += 1;
        if *told > most(name) && !self.narrator.is_json() {
            return;
        }
        figures["event"] = name.into();
        figures["destination"] = destination.as_str().into();
        let actor = setting::known(&destination).map_or(Actor::Relay, Actor::Destination);
        self.narrator.progress("");
        self.narrator.tell(actor, &words, figures);
    }
}

/// Whether the relay still has something to deliver: what stands still for a person does not count.
const fn is_anything_due(figures: &Figures) -> bool {
    figures.due_now + figures.waiting + figures.put_away > 0
}

impl Notes {
    /// With what was seen and heard since: now nothing more comes.
    pub(super) fn complete(mut self) -> Self {
        while let Ok(sighting) = self.sightings.try_recv() {
            let _untold = self.news.saw(&sighting);
        }
        loop {
            use broadcast::error::TryRecvError;
            match self.records.try_recv() {
                Ok(record) => self.heard.hear(Ok(record)),
                Err(TryRecvError::Lagged(missed)) => self.heard.hear(Err(RecvError::Lagged(missed))),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return self,
            }
        }
    }
}

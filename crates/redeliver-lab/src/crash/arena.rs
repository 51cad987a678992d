//! One database with its relays, producers and destination, from an empty directory to the last check.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use redeliver::clock;
use tokio::{sync::RwLock, task::JoinSet};

use super::{
    database::Database,
    destination::Destination,
    error::Result,
    place::Place,
    plan::Plan,
    producer::{PRODUCERS, Shop},
    proxy::Proxy,
    record::Record,
    relay::{LEASE, Relay, Workshop},
    report::Ended,
    stall,
    torment::Torment,
};

/// Until everything must have reached its end, once nothing disturbs it any more.
const DRAINED_WITHIN: Duration = Duration::from_secs(60);
/// Until a relay that was asked to stop must have: what it is configured with, and time to spare.
const STOPPED_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const TELL_EVERY: usize = 10;

pub(super) struct Arena {
    pub(super) record: Arc<Record>,
    pub(super) database: Arc<RwLock<Database>>,
    pub(super) relays: Vec<Relay>,
    /// One for each relay, where there is a server to be cut off from.
    pub(super) proxies: Vec<Proxy>,
    pub(super) rng: Rng,
    plan: Plan,
    applied: Vec<Torment>,
    workshop: Workshop,
    destination: Destination,
    shop: Arc<Shop>,
    producers: JoinSet<()>,
}

impl Arena {
    pub(super) async fn set_up(place: &Place, plan: Plan) -> Result<Self> {
        let mut rng = Rng::with_seed(plan.seed);
        let directory = place.arena(&plan.name())?;
        let record = Arc::new(Record::new(LEASE));
        let database = Database::start(plan.database, &directory).await?;
        let destination = Destination::start(&record, rng.u64(..)).await?;
        let workshop = Workshop {
            binary: place.binary().to_owned(),
            directory,
            destination: destination.address,
        };
        workshop.migrate(&database.url(None)).await?;
        database.connect().await?.make_orders().await?;
        let mut proxies = Vec::new();
        if let Some(server) = database.server() {
            for _ in 0..plan.relays {
                proxies.push(Proxy::to(server).await?);
            }
        }
        let database = Arc::new(RwLock::new(database));
        let shop = Arc::new(Shop::new(Arc::clone(&record), Arc::clone(&database)));
        let mut arena = Self {
            relays: Vec::new(),
            applied: Vec::new(),
            producers: JoinSet::new(),
            record,
            database,
            proxies,
            rng,
            plan,
            workshop,
            destination,
            shop,
        };
        for slot in 0..arena.plan.relays {
            let relay = arena.start_relay(slot).await?;
            arena.relays.push(relay);
        }
        stall::watch(&arena.record, Record::stalled);
        for _ in 0..PRODUCERS {
            let rng = Rng::with_seed(arena.rng.u64(..));
            arena.producers.spawn(Arc::clone(&arena.shop).produce(rng));
        }
        Ok(arena)
    }

    async fn start_relay(&self, slot: usize) -> Result<Relay> {
        let proxy = self.proxies.get(slot).map(|proxy| proxy.address);
        let url = self.database.read().await.url(proxy);
        self.workshop.start(self.record.next_run(), &url)
    }

    pub(super) async fn replace(&mut self, slot: usize) -> Result<()> {
        self.relays[slot] = self.start_relay(slot).await?;
        Ok(())
    }

    pub(super) async fn torment(&mut self) -> Result<()> {
        let torments = self.plan.torments.clone();
        for (done, &torment) in torments.iter().enumerate() {
            self.apply(torment).await?;
            self.applied.push(torment);
            self.replace_the_fallen().await?;
            if (done + 1) % TELL_EVERY == 0 || done + 1 == torments.len() {
                self.tell(done + 1, torments.len());
            }
        }
        Ok(())
    }

    /// A relay ends when it is told to, and never else.
    async fn replace_the_fallen(&mut self) -> Result<()> {
        for slot in 0..self.relays.len() {
            if let Some(what) = self.relays[slot].ended_by_itself() {
                self.record.object("processes", what);
                self.replace(slot).await?;
            }
        }
        Ok(())
    }

    fn tell(&self, done: usize, of: usize) {
        let state = self.record.state();
        let (messages, arrivals) = (state.history.messages.len(), state.history.arrivals.len());
        drop(state);
        let name = self.plan.name();
        super::report::progress(&format!(
            "{name}: {done} of {of} torments, {messages} messages, {arrivals} arrivals"
        ));
    }

    /// A relay that is asked to stop does so in time, and says that all is well.
    pub(super) async fn ask_to_stop(&mut self, slot: usize) -> Result<()> {
        let relay = &mut self.relays[slot];
        let stopped = relay.stop(STOPPED_WITHIN).await?;
        if !stopped.is_some_and(|status| status.success()) {
            let ended = stopped.map_or_else(|| "not at all".to_owned(), |status| status.to_string());
            let what = format!(
                "run {} was asked to stop and ended {ended}: {}",
                relay.run,
                relay.said()
            );
            self.record.object("processes", what);
        }
        Ok(())
    }

    /// Lets everything come to rest, and looks at what there is.
    pub(super) async fn finish(mut self) -> Result<Ended> {
        self.destination.calm_down();
        self.shop.close();
        while self.producers.join_next().await.is_some() {}
        let mut connection = self.database.read().await.connect().await?;
        let begun = clock::now();
        while connection.live().await? > 0 && clock::now().since(begun) < DRAINED_WITHIN {
            clock::sleep(LOOK_EVERY).await;
        }
        let drained = clock::now().since(begun);
        for slot in 0..self.relays.len() {
            self.ask_to_stop(slot).await?;
        }
        let contents = connection.contents().await?;
        drop(connection);
        let (mut history, violations) = {
            let mut state = self.record.state();
            let orders: std::collections::HashSet<_> = contents.orders.iter().copied().collect();
            // Where the answer to a commit was lost, the application's own row says what became of it.
            for ticket in std::mem::take(&mut state.unknown) {
                if let Some(message) = state.history.messages.get_mut(&ticket) {
                    message.committed = orders.contains(&ticket);
                }
            }
            (
                std::mem::take(&mut state.history),
                std::mem::take(&mut state.violations),
            )
        };
        history.rows = contents.rows;
        history.log = contents.log;
        let ended = Ended::of(
            self.plan.database,
            self.plan.name(),
            &self.applied,
            drained,
            history,
            violations,
        );
        drop(self.shop);
        if let Some(database) = Arc::into_inner(self.database) {
            database.into_inner().end().await;
        }
        Ok(ended)
    }
}

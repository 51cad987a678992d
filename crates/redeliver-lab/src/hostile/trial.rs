//! One seed on one database: from an empty outbox through its actions to the last check.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use redeliver::clock;
use tokio::{sync::RwLock, task::JoinSet};

use super::{
    canary,
    case::{Commit, FaultKind, PARKING, Row, Ticket},
    checks,
    configuration::{LEASE, LIMITED, STEADY, configuration},
    database::{Connection, Family, Home, Host},
    destination::{Destination, ticket_in_headers, ticket_in_payload},
    plan::Plan,
    producer::{PRODUCERS, Shop, transact},
    record::Record,
    report::Outcome,
};
use crate::crash::{
    error::{CannotTorment, Result, While as _},
    place::Place,
    relay::{Relay, Workshop},
    stall,
};

/// Once the last fault is over, something must reach its end within this time, until everything has.
const PROGRESS_WITHIN: Duration = Duration::from_secs(20);
/// Until everything must have reached its end.
const SETTLED_WITHIN: Duration = Duration::from_secs(90);
/// Until a relay that was asked to stop must have.
const STOPPED_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What a relay may have resident beside one and a half times its `window_bytes`, whatever rows there are.
const MOST_MEMORY: u64 = 104 << 20;

pub(super) struct Trial {
    pub(super) plan: Plan,
    pub(super) rng: Rng,
    pub(super) record: Arc<Record>,
    pub(super) host: Arc<Host>,
    pub(super) home: Arc<RwLock<Home>>,
    pub(super) relays: Vec<Relay>,
    pub(super) shop: Arc<Shop>,
    pub(super) restores: u32,
    workshop: Workshop,
    destination: Destination,
    producers: JoinSet<()>,
    /// Ends with the trial.
    watching: JoinSet<()>,
    peak_memory: u64,
}

impl Trial {
    /// Runs the plan, and returns what came of it.
    pub(super) async fn run(host: Arc<Host>, place: Arc<Place>, plan: Plan) -> Result<Outcome> {
        let (_shared, _alone);
        if plan.is_server_wide() {
            _alone = Arc::clone(&host.turn).write_owned().await;
        } else {
            _shared = Arc::clone(&host.turn).read_owned().await;
        }
        let mut trial = Self::set_up(host, &place, plan).await?;
        for (pause, action) in trial.plan.actions.clone() {
            clock::sleep(pause).await;
            trial.record.note(format!("{action:?}"));
            trial.perform(action).await?;
            trial.replace_the_fallen().await?;
        }
        trial.finish().await
    }

    async fn set_up(host: Arc<Host>, place: &Place, plan: Plan) -> Result<Self> {
        let mut rng = Rng::with_seed(plan.chance);
        let directory = place.arena(&plan.name())?;
        let record = Arc::new(Record::new(LEASE));
        let name = format!("trial_{}", plan.seed);
        let home = Arc::new(RwLock::new(Home::make(&host, name).await?));
        let destination = Destination::start(&record, rng.u64(..))?;
        let workshop = Workshop {
            binary: place.binary().to_owned(),
            directory,
            destination: destination.address(),
        };
        let mut watching = JoinSet::new();
        watching.spawn(canary::watch(Arc::clone(&record), Arc::clone(&home)));
        let shop = Arc::new(Shop::new(Arc::clone(&record), Arc::clone(&home)));
        let mut trial = Self {
            plan,
            rng,
            record,
            host,
            home,
            relays: Vec::new(),
            shop,
            restores: 0,
            workshop,
            destination,
            producers: JoinSet::new(),
            watching,
            peak_memory: 0,
        };
        stall::watch(&trial.record, Record::stalled);
        for _ in 0..trial.plan.relays {
            let relay = trial.start_relay().await?;
            trial.relays.push(relay);
        }
        for _ in 0..PRODUCERS {
            let rng = Rng::with_seed(trial.rng.u64(..));
            trial.producers.spawn(Arc::clone(&trial.shop).produce(rng));
        }
        Ok(trial)
    }

    pub(super) async fn start_relay(&self) -> Result<Relay> {
        let run = self.record.next_run();
        let settings = configuration(run, self.destination.address(), self.plan.limits);
        let url = self.home.read().await.url();
        self.workshop.start_with(run, &url, &settings)
    }

    /// A relay that ended without being asked is a violation; another takes its place.
    async fn replace_the_fallen(&mut self) -> Result<()> {
        for slot in 0..self.relays.len() {
            if let Some(what) = self.relays[slot].ended_by_itself() {
                self.record.object("processes", what);
                self.relays[slot] = self.start_relay().await?;
            }
        }
        Ok(())
    }

    /// Looks at what a relay leaves behind: its peak of memory, and panics in its log.
    pub(super) fn inspect(&mut self, slot: usize) {
        let relay = &self.relays[slot];
        let peak = relay.peak_memory().unwrap_or(0);
        self.peak_memory = self.peak_memory.max(peak);
        let window = u64::from(self.plan.limits.window_bytes) << 20;
        if peak > MOST_MEMORY + window * 3 / 2 {
            let what = format!(
                "run {} had {} MiB resident, with {:?}",
                relay.run,
                peak >> 20,
                self.plan.limits
            );
            self.record.object("memory", what);
        }
        let log = std::fs::read_to_string(relay.log()).unwrap_or_default();
        if let Some(line) = log.lines().find(|line| line.contains("panicked at")) {
            self.record
                .object("processes", format!("run {}: {line}", relay.run));
        }
    }

    pub(super) async fn kill(&mut self, slot: usize) -> Result<()> {
        self.inspect(slot);
        self.record.begin(FaultKind::Kill, Some(self.relays[slot].run));
        self.relays[slot].kill().await
    }

    /// A relay that is asked to stop does so in time and without an error.
    pub(super) async fn stop(&mut self, slot: usize) -> Result<()> {
        self.inspect(slot);
        let relay = &mut self.relays[slot];
        let stopped = relay.stop(STOPPED_WITHIN).await?;
        // A signal that comes before the program can handle it ends it.
        let hardly_begun = relay.said().is_empty() && stopped.is_some();
        if !hardly_begun && !stopped.is_some_and(|status| status.success()) {
            let ended = stopped.map_or_else(|| "not at all".to_owned(), |status| status.to_string());
            let what = format!(
                "run {} was asked to stop and ended {ended}: {}",
                relay.run,
                relay.said()
            );
            self.record.object("processes", what);
            self.record.begin(FaultKind::Kill, Some(self.relays[slot].run));
            self.relays[slot].kill().await?;
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<Outcome> {
        self.destination.calm_down();
        self.shop.close();
        while self.producers.join_next().await.is_some() {}
        self.record.note("the faults are over");
        self.probe().await?;
        let settled = self.settle().await?;
        for slot in 0..self.relays.len() {
            self.stop(slot).await?;
        }
        let rows = self.rows(false).await?;
        let (mut case, violations, notes) = {
            let mut state = self.record.state();
            (
                std::mem::take(&mut state.case),
                std::mem::take(&mut state.violations),
                std::mem::take(&mut state.notes),
            )
        };
        case.rows = rows;
        let mut findings = checks::check(&case);
        findings.violations.extend(violations);
        let outcome = Outcome {
            settled,
            peak_memory: self.peak_memory,
            actions: self
                .plan
                .actions
                .iter()
                .map(|(_, action)| action.name())
                .collect(),
            findings,
            case,
            notes,
            database: self.plan.database,
            seed: self.plan.seed,
        };
        self.watching.shutdown().await;
        drop((self.shop, self.destination));
        if let Some(home) = Arc::into_inner(self.home) {
            home.into_inner().end().await;
        }
        Ok(outcome)
    }

    /// Inserts an honest message for every destination and, on average, every shard.
    async fn probe(&mut self) -> Result<()> {
        let home = self.home.read().await;
        let mut connection = home.connect().await?;
        let family = home.family();
        let each = if family == Family::Sqlite { 5 } else { 64 };
        for destination in [STEADY, LIMITED, PARKING] {
            let drafts: Vec<_> = (0..each)
                .map(|at| {
                    self.shop
                        .probe(family, destination, format!("probe-{destination}-{at}"))
                })
                .collect();
            for draft in drafts {
                // Alone: a number that a hostile row has taken already refuses its own row only.
                let tickets: [Ticket; 1] = [draft.ticket];
                let sent = transact(&mut connection, family, &[draft], Duration::ZERO, true).await;
                let commit = if sent.is_ok() {
                    Commit::Committed
                } else {
                    Commit::RolledBack
                };
                self.record.ended(&tickets, commit);
            }
        }
        Ok(())
    }

    /// Waits until nothing is live that must not be, and returns how long that took.
    async fn settle(&mut self) -> Result<Duration> {
        let begun = clock::now();
        let (mut fewest, mut progress) = (usize::MAX, begun);
        loop {
            let rows = self.rows(true).await?;
            let open = {
                let state = self.record.state();
                rows.iter().filter(|row| !state.case.may_stay(row)).count()
            };
            let now = clock::now();
            if open < fewest {
                (fewest, progress) = (open, now);
            }
            let waited = now.since(begun);
            if open == 0 || waited > SETTLED_WITHIN || now.since(progress) > PROGRESS_WITHIN {
                return Ok(waited);
            }
            self.replace_the_fallen().await?;
            clock::sleep(LOOK_EVERY).await;
        }
    }

    pub(super) async fn rows(&self, live: bool) -> Result<Vec<Row>> {
        let home = self.home.read().await;
        let mut connection = home.connect().await?;
        read(&mut connection, live).await
    }
}

async fn read(connection: &mut Connection, live: bool) -> Result<Vec<Row>> {
    let mut sql = "SELECT number, destination, status, dead_letter_reason, substr(headers, 1, 60), substr(payload, 1, 40) \
                   FROM redeliver_messages"
        .to_owned();
    if live {
        sql.push_str(" WHERE status NOT IN ('sent', 'dead_lettered', 'discarded', 'fanned_out')");
    }
    let rows = connection.rows(&sql).await.during("read the view")?;
    rows.into_iter()
        .map(|row| {
            let [number, destination, status, reason, headers, payload] = <[_; 6]>::try_from(row)
                .map_err(|_| CannotTorment::new("read the view", "a row has another width"))?;
            let ticket = headers.as_deref().and_then(ticket_in_headers);
            Ok(Row {
                ticket: ticket.or_else(|| payload.as_deref().and_then(ticket_in_payload)),
                number: number.and_then(|number| number.parse().ok()).unwrap_or(0),
                destination: destination.unwrap_or_default(),
                status: status.unwrap_or_default(),
                reason,
            })
        })
        .collect()
}

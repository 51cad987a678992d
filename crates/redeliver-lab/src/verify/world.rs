//! What all parts of one history share.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use redeliver_outbox::store::SqliteStore;
use rusqlite::Connection;
use tokio::sync::Notify;

use super::{
    chance::Chance,
    clock::Clocks,
    history::{Event, History, ProcessId},
    record::Records,
    scenario::Scenario,
};

/// What a checker objects to.
#[derive(Clone, Debug)]
pub(super) struct Objection {
    pub(super) checker: &'static str,
    pub(super) what: String,
    pub(super) number: Option<i64>,
    /// Another message that it is about.
    pub(super) other: Option<i64>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) history: History,
    pub(super) records: Records,
    pub(super) objection: Option<Objection>,
    /// Chance on the way to and from destinations.
    pub(super) network: Chance,
    /// Chance on the way to and from the database.
    pub(super) trouble: Chance,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) clocks: Arc<Clocks>,
    pub(super) store: SqliteStore,
    pub(super) over: Notify,
    state: Mutex<State>,
    calm: AtomicBool,
    next_process: AtomicU32,
}

impl World {
    pub(super) fn new(scenario: Scenario, clocks: Arc<Clocks>, store: SqliteStore) -> Self {
        let state = State {
            history: History::default(),
            records: Records::default(),
            objection: None,
            network: Chance::new(scenario.seed, "network"),
            trouble: Chance::new(scenario.seed, "trouble"),
        };
        Self {
            scenario,
            clocks,
            store,
            over: Notify::new(),
            state: Mutex::new(state),
            calm: AtomicBool::new(false),
            next_process: AtomicU32::new(1),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> u64 {
        self.clocks.elapsed()
    }

    /// No more faults.
    pub(super) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    pub(super) fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.tell(Event::Calm);
    }

    pub(super) fn next_process(&self) -> ProcessId {
        ProcessId(self.next_process.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn tell(&self, event: Event) {
        let now = self.now();
        self.state().history.push(now, event);
    }

    /// A checker objects; the first objection counts and ends the history.
    pub(super) fn object(&self, checker: &'static str, number: Option<i64>, what: String) {
        self.object_to_both(checker, number, None, what);
    }

    /// The same about a message and another one.
    pub(super) fn object_to_both(
        &self,
        checker: &'static str,
        number: Option<i64>,
        other: Option<i64>,
        what: String,
    ) {
        let mut state = self.state();
        if state.objection.is_none() {
            state.objection = Some(Objection {
                checker,
                what,
                number,
                other,
            });
            self.over.notify_one();
        }
    }

    /// Looks at the database itself. In memory that cannot fail; if it does, somebody broke the tables.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        match self.store.with_connection(look) {
            Ok(seen) => Some(seen),
            Err(error) => {
                self.object("tables", None, format!("the tables cannot be read: {error}"));
                None
            }
        }
    }
}

//! What an outbox needs to be seen at work: a database of its own, an API that fails, a relay between them.

use std::{
    fs::{self, DirBuilder},
    io,
    path::PathBuf,
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use redeliver::{Jitter, Policy};
use redeliver_lab::faulty::{Faulty, FaultyConfig, FaultyServer};
use redeliver_outbox::{
    Timestamp,
    desk::{Detail, Filter, MessageRef},
    destination::{Expects, Http, Route, Routes, json_schema},
    relay::{Happening, Hint, Relay, RelayConfig, Witness},
    state::Status,
    store::{self, History, Names, Opened, Settlement},
};
use serde_json::json;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use crate::readable;

/// The destination of the shop's orders.
pub(super) const BILLING: &str = "billing";
/// What the API does with an order: delays it a little, fails at its rate, charges each key once.
const CHARGE: &str = "/payment/authorize";
/// The documents' backoff: doubled from a base, capped, give or take a fifth.
pub(super) const POLICY: Policy = Policy::exponential(Duration::from_millis(400), Duration::from_secs(2))
    .jitter(Jitter::Proportional(0.2))
    .max_attempts(10);
/// How slow the API is at most.
const SLOWEST: Duration = Duration::from_millis(120);

/// An outbox in a folder of its own, and the API that its messages go to.
pub(super) struct Stage {
    pub(super) opened: Opened,
    pub(super) server: FaultyServer,
    seed: u64,
    // Last, so that the database is closed before its folder goes.
    folder: Folder,
}

impl Stage {
    pub(super) async fn set(fail_rate: u8, seed: u64, keep: bool) -> anyhow::Result<Self> {
        let config = FaultyConfig {
            fail_rate,
            seed,
            max_delay: SLOWEST,
            // No hint, so that the policy's own waits are seen.
            retry_after: 0,
            ..FaultyConfig::default()
        };
        let server = Faulty::start(config).context("cannot start the API that fails")?;
        let folder = Folder::make(keep).context("cannot make a temporary folder for the outbox")?;
        let opened = store::open(&folder.database(), &Names::default(), History::Full).await?;
        opened.desk.migrate(opened.desk.usual_layout(), None).await?;
        Ok(Self {
            opened,
            server,
            seed,
            folder,
        })
    }

    /// The address of the database.
    pub(super) fn database(&self) -> String {
        self.folder.database()
    }

    /// The file of the database, for the shop's own connection.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.file()
    }

    /// Where the folder is, if it stays.
    pub(super) fn kept(&self) -> Option<String> {
        self.folder.kept()
    }

    /// A destination at the API, with these options of its path.
    pub(super) fn route(&self, options: &str) -> anyhow::Result<Route> {
        let url = format!("{}{CHARGE}{options}", self.server.base_url());
        let mut route = Route::to(Http::to(url).allow_private(true).build()?);
        route.policy = POLICY;
        route.expects = Expects::Schema(json_schema(&json!({
            "type": "object",
            "required": ["order", "total"],
            "properties": { "order": { "type": "integer" }, "total": { "type": "string" } },
        }))?);
        Ok(route)
    }

    /// The one destination of the shop.
    pub(super) fn billing(&self) -> anyhow::Result<Routes> {
        Ok(Routes::new().with(BILLING, self.route("")?))
    }

    /// A relay that runs until it is told to stop.
    pub(super) fn relay(&self, routes: Routes) -> Running {
        let chance = Mutex::new(fastrand::Rng::with_seed(self.seed));
        let draw = move || chance.lock().unwrap_or_else(PoisonError::into_inner).u64(..);
        let config = RelayConfig {
            entropy: Arc::new(draw),
            ..RelayConfig::unique()
        };
        let (sender, settled) = mpsc::unbounded_channel();
        let watcher = Arc::new(Watcher {
            sender,
            early: AtomicU64::new(0),
        });
        let relay = Relay::new(Arc::clone(&self.opened.store), routes, config)
            .witnessed_by(Arc::clone(&watcher) as Arc<dyn Witness>);
        let hint = relay.hint();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            relay.run(async move { drop(stopped.await) }).await;
        });
        Running {
            hint,
            settled,
            stop,
            running,
            watcher,
        }
    }

    /// Everything that the database has about a message.
    pub(super) async fn look(&self, number: i64) -> anyhow::Result<Detail> {
        let found = self.opened.desk.find(MessageRef::Number(number)).await?;
        found.with_context(|| format!("message {number} is not in the database"))
    }

    /// How many messages have one of these statuses.
    pub(super) async fn count(&self, statuses: &[Status]) -> anyhow::Result<u64> {
        let filter = Filter {
            statuses: statuses.to_vec(),
            ..Filter::default()
        };
        Ok(self.opened.desk.count(&filter).await?)
    }
}

/// An error without the answer's body that comes after it.
pub(super) fn briefly(error: &str) -> String {
    let first = error.split_once(": ").map_or(error, |(first, _)| first);
    readable::line(first, 80)
}

/// Sees what is written down, and whether anything is sent before it is due.
#[derive(Debug)]
struct Watcher {
    sender: mpsc::UnboundedSender<Settlement>,
    early: AtomicU64,
}

impl Witness for Watcher {
    fn saw(&self, happening: Happening<'_>) {
        match happening {
            Happening::Settled(settlement) => drop(self.sender.send(settlement.clone())),
            Happening::Sending { message, .. } if message.next_attempt_at > Some(Timestamp::wall()) => {
                self.early.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// A relay at work.
pub(super) struct Running {
    pub(super) hint: Hint,
    /// What became of messages, once it is in the database.
    pub(super) settled: mpsc::UnboundedReceiver<Settlement>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
    watcher: Arc<Watcher>,
}

/// What a relay did until it stopped.
pub(super) struct Stopped {
    /// What nobody has asked for yet.
    pub(super) settled: Vec<Settlement>,
    /// Attempts that began before they were due.
    pub(super) early: u64,
}

impl Running {
    /// Lets it finish what it is doing.
    pub(super) async fn stop(mut self) -> anyhow::Result<Stopped> {
        drop(self.stop);
        self.running.await.context("the relay ended early")?;
        let mut settled = Vec::new();
        while let Ok(settlement) = self.settled.try_recv() {
            settled.push(settlement);
        }
        Ok(Stopped {
            settled,
            early: self.watcher.early.load(Ordering::Relaxed),
        })
    }
}

const FILE: &str = "shop.db";

/// A temporary folder, and the database in it.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    keep: bool,
}

impl Folder {
    pub(super) fn make(keep: bool) -> io::Result<Self> {
        let name = format!(
            "redeliver-demo-{}-{:08x}",
            process::id(),
            redeliver::entropy::draw() >> 32
        );
        let path = std::env::temp_dir().join(name);
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self { path, keep })
    }

    /// The address of the database.
    pub(super) fn database(&self) -> String {
        format!("sqlite://{}", self.file().display())
    }

    /// The file of the database.
    pub(super) fn file(&self) -> PathBuf {
        self.path.join(FILE)
    }

    /// Where it is, if it stays.
    pub(super) fn kept(&self) -> Option<String> {
        self.keep.then(|| self.path.display().to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

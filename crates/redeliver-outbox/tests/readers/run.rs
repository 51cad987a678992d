//! One run: writers, held transactions, workers, and the judgement.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use redeliver::clock;
use tokio::{sync::watch, task::JoinSet};

use crate::{
    held,
    judge::Judge,
    ledger::Ledger,
    log::Log,
    server::Server,
    worker::{Place, WORKERS},
    writer::{self, create_aggregates},
};

const WRITERS: u64 = 12;
const ROWS: u64 = 20_000;
const SEED: u64 = 3;
/// Without a row delivered for so long, the run has failed. It is there to fail instead of hanging.
const PATIENCE: Duration = Duration::from_secs(120);

fn setting(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
        Err(_) => usual,
    }
}

pub(crate) async fn run(name: &str, server: Arc<dyn Server>) {
    let seed = setting("REDELIVER_READERS_SEED", SEED);
    let ledger = Arc::new(Ledger::new(setting("REDELIVER_READERS_ROWS", ROWS)));
    let log = Arc::new(Log::default());
    let began = clock::now();
    let mut session = server.connect_beside().await;
    create_aggregates(session.as_mut()).await.unwrap();
    let (writing, still_writing) = watch::channel(true);

    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        let (server, ledger) = (Arc::clone(&server), Arc::clone(&ledger));
        writers.spawn(writer::write(server, ledger, seed.wrapping_mul(1_000) + number));
    }
    let held_writer = held::write(Arc::clone(&server), Arc::clone(&ledger));
    writers.spawn(async { held_writer.await.unwrap() });
    let held_reader = held::read(Arc::clone(&server), Arc::clone(&ledger));
    writers.spawn(async { held_reader.await.unwrap() });

    let mut workers = JoinSet::new();
    for number in 0..WORKERS {
        let place = Place {
            number,
            server: Arc::clone(&server),
            log: Arc::clone(&log),
            longest_life: usize::try_from(ledger.target / 20).unwrap(),
            writing: still_writing.clone(),
        };
        let rng = Rng::with_seed(seed.wrapping_mul(1_000) + WRITERS + u64::from(number));
        workers.spawn(place.work(rng));
    }

    let tell = |what: &str| {
        let (returned, delivered) = log.so_far();
        let (rows, seconds) = (ledger.rows(), clock::now().since(began).as_secs());
        eprintln!(
            "{name}, seed {seed}: {seconds:>4} s: {what}{rows} rows committed, {returned} read, {delivered} delivered"
        );
    };
    let mut moved = (log.so_far(), clock::now());
    while !workers.is_empty() {
        tokio::select! {
            Some(ended) = writers.join_next() => {
                ended.unwrap();
                if writers.is_empty() {
                    tell("all is written: ");
                    writing.send_replace(false);
                }
            }
            Some(ended) = workers.join_next() => ended.unwrap(),
            () = clock::sleep(Duration::from_secs(3)) => {
                tell("");
                if log.so_far() != moved.0 {
                    moved = (log.so_far(), clock::now());
                } else if clock::now().since(moved.1) > PATIENCE {
                    workers.shutdown().await;
                    break;
                }
            }
        }
    }
    let versions = session
        .query("SELECT CAST(SUM(version) AS DECIMAL(18)) FROM aggregates")
        .await
        .unwrap();
    tell("done: ");
    let judge = Judge::new(&ledger, &log);
    let keyed = judge.keyed();
    assert_eq!(
        versions,
        [keyed],
        "the aggregates' versions, and the keyed rows that were committed"
    );
    eprintln!("{name}, seed {seed}: {}", judge.figures());
    judge.judge();
}

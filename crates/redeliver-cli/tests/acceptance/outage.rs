//! The destination goes down under a relay with messages waiting, and comes back.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use redeliver_lab::faulty::FaultyConfig;

use crate::{
    client::Client,
    database::{ALL, Database},
    endpoint::Endpoint,
    relay::{Relay, await_that},
};

const BEFORE: usize = 200;
const WAITING: usize = 2_000;
/// More probes than a message has attempts.
const PROBES: usize = 6;
/// What may be on its way when it goes down, and what it takes to notice.
const NOTICED_WITHIN: usize = 32 + 20;

#[test]
fn an_outage_burns_no_attempts_and_everything_arrives() {
    for kind in ALL {
        let endpoint = Endpoint::well();
        let address = endpoint.address();
        let database = Database::new(kind);
        database.configure(&format!(
            "[destinations.api]\ntype = \"http\"\nurl = \"http://{address}/ok\"\nallow_private = true\n\
             policy = {{ base = \"10ms\", max = \"100ms\", max_attempts = 3 }}\n\
             manners = {{ breaker = {{ open_for = \"200ms\" }}, ramp = \"2s\" }}\n"
        ));
        let mut client = database.client();
        let relay = Relay::start(&database);
        insert(&mut client, BEFORE);
        endpoint.await_arrived(BEFORE);
        endpoint.stop();

        let outage = Outage::begin(address);
        insert(&mut client, WAITING);
        outage.await_attempts(NOTICED_WITHIN + PROBES);
        let attempts = outage.end();
        let endpoint = Endpoint::start(FaultyConfig {
            listen: address,
            ..FaultyConfig::default()
        });
        endpoint.await_arrived(WAITING);
        relay.stop();

        let left = client.number("SELECT count(*) FROM redeliver_outbox");
        let dead = client.number("SELECT count(*) FROM redeliver_dead");
        let most = client.number("SELECT max(attempts) FROM redeliver_sent");
        let counted = client.number("SELECT count(*) FROM redeliver_attempts");
        assert_eq!((left, dead), (0, 0), "{kind:?}");
        assert!(most <= 3, "{kind:?}: {most} attempts");
        let noticed = i64::try_from(NOTICED_WITHIN).unwrap();
        assert!(
            counted <= noticed,
            "{kind:?}: {counted} attempts were counted of {attempts} connections: probes count against nobody"
        );
    }
}

fn insert(client: &mut Client, count: usize) {
    for batch in (0..count).collect::<Vec<_>>().chunks(500) {
        let values: Vec<String> = batch
            .iter()
            .map(|n| format!("('api', '{{\"n\":{n}}}')"))
            .collect();
        client.run(&format!(
            "INSERT INTO redeliver_outbox (destination, payload) VALUES {}",
            values.join(", ")
        ));
    }
}

/// Takes every connection at an address and closes it at once.
struct Outage {
    address: SocketAddr,
    attempts: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Outage {
    fn begin(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let (attempts, over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (counted, ended) = (Arc::clone(&attempts), Arc::clone(&over));
        let thread = thread::spawn(move || {
            for connection in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                counted.fetch_add(usize::from(connection.is_ok()), Ordering::SeqCst);
            }
        });
        Self {
            address,
            attempts,
            over,
            thread,
        }
    }

    #[track_caller]
    fn await_attempts(&self, count: usize) {
        await_that(&format!("{count} connections were tried"), || {
            (self.attempts.load(Ordering::SeqCst) >= count).then_some(())
        });
    }

    /// Says how many connections there were.
    fn end(self) -> usize {
        self.over.store(true, Ordering::SeqCst);
        // It waits for the next one.
        let _ = std::net::TcpStream::connect(self.address);
        self.thread.join().unwrap();
        self.attempts.load(Ordering::SeqCst)
    }
}

//! A standby that holds back vacuum by its feedback, without a replication slot.

use redeliver_outbox::desk::{Desk as _, Look as _};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_postgres::config::Host;

use crate::database::{Database, scalar, until};

/// A connection as a standby makes it, in PostgreSQL's own protocol: no client for queries speaks this part of it.
struct Standby(TcpStream);

impl Standby {
    async fn connect(database: &Database) -> Self {
        let config: tokio_postgres::Config = database.url.parse().unwrap();
        let (Some(Host::Tcp(host)), Some(port)) = (config.get_hosts().first(), config.get_ports().first())
        else {
            panic!("the test server has a TCP address");
        };
        let mut standby = Self(TcpStream::connect((host.as_str(), *port)).await.unwrap());
        let user = config.get_user().unwrap_or("postgres");
        let mut startup = 196_608_i32.to_be_bytes().to_vec();
        for text in ["user", user, "replication", "true", "application_name", "reports"] {
            startup.extend(text.bytes().chain([0]));
        }
        startup.push(0);
        standby.send(None, &startup).await;
        standby.read_until(b'Z').await;
        standby
    }

    async fn send(&mut self, kind: Option<u8>, body: &[u8]) {
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend(i32::try_from(body.len() + 4).unwrap().to_be_bytes());
        message.extend(body);
        self.0.write_all(&message).await.unwrap();
    }

    async fn read_until(&mut self, wanted: u8) {
        loop {
            let kind = self.0.read_u8().await.unwrap();
            let length = usize::try_from(self.0.read_i32().await.unwrap()).unwrap();
            let mut body = vec![0; length - 4];
            self.0.read_exact(&mut body).await.unwrap();
            assert_ne!(kind, b'E', "{}", String::from_utf8_lossy(&body));
            if kind == wanted {
                return;
            }
        }
    }

    async fn replicate(&mut self, from: &str) {
        let statement = format!("START_REPLICATION PHYSICAL {from}\0");
        self.send(Some(b'Q'), statement.as_bytes()).await;
        self.read_until(b'W').await;
    }

    /// What `hot_standby_feedback` makes a standby say: it has queries that still see what this transaction has not changed.
    async fn feed_back(&mut self, xmin: u32) {
        let mut feedback = vec![b'h'];
        feedback.extend(0_i64.to_be_bytes());
        for word in [xmin, 0, 0, 0] {
            feedback.extend(word.to_be_bytes());
        }
        self.send(Some(b'd'), &feedback).await;
    }
}

#[tokio::test]
async fn a_standby_that_holds_back_vacuum_without_a_slot_is_found() {
    let (database, store) = Database::migrated(4).await;
    let client = database.client().await;
    let lsn = scalar(&client, "SELECT pg_current_wal_lsn()").await;
    let xmin = scalar(&client, "SELECT pg_snapshot_xmin(pg_current_snapshot())").await;
    let mut standby = Standby::connect(&database).await;
    standby.replicate(&lsn).await;
    standby.feed_back(xmin.parse().unwrap()).await;
    let fed_back = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE backend_xmin IS NOT NULL)";
    until(&client, fed_back).await;

    let storage = store.storage().await.unwrap();
    let holder = storage
        .held_back_by
        .iter()
        .find(|holder| holder.kind == "standby");
    assert_eq!(holder.map(|holder| holder.application.as_str()), Some("reports"));
    let findings = store.examine().await.unwrap();
    let vacuum = findings
        .iter()
        .find(|finding| finding.what.contains("the standby reports"));
    assert!(vacuum.is_some(), "{findings:#?}");
}

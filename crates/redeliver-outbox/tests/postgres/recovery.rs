//! A server that recovers from the death of one of its processes without being started again.

use std::{path::PathBuf, process::Command, time::Duration};

use redeliver_outbox::{
    desk::{Layout, Schema as _},
    store::{PostgresOptions, PostgresStore, Store as _},
};
use tokio_postgres::{Client, NoTls};

use crate::database::{connect, delivered, id_of, insert, numbers, owning_reader, room, scalar, worker};

fn services(arguments: &[&str]) -> String {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services");
    let ran = Command::new(script).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "scripts/services {arguments:?}: {said}");
    String::from_utf8(ran.stdout).unwrap()
}

/// Servers that nobody else uses.
struct OwnServers {
    folder: String,
    address: String,
}

impl OwnServers {
    fn start() -> Self {
        let lines = services(&["start"]);
        let value = |name: &str| {
            let mut lines = lines.lines().filter_map(|line| line.strip_prefix("export "));
            let line = lines.find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches('=').to_owned()
        };
        Self {
            folder: value("REDELIVER_TEST_SERVICES"),
            address: value("REDELIVER_TEST_POSTGRES"),
        }
    }
}

impl Drop for OwnServers {
    fn drop(&mut self) {
        services(&["stop", &self.folder]);
    }
}

/// Ends the process behind a connection at once, and waits until the server takes connections again.
async fn kill(address: &str, victim: Client) -> Client {
    let pid = scalar(&victim, "SELECT pg_backend_pid()").await;
    let killed = Command::new("kill").args(["-9", &pid]).status().unwrap();
    assert!(killed.success());
    while !victim.is_closed() {
        redeliver::clock::sleep(Duration::from_millis(2)).await;
    }
    for _ in 0..5_000 {
        if let Ok((client, connection)) = tokio_postgres::connect(address, NoTls).await {
            tokio::spawn(connection);
            return client;
        }
        redeliver::clock::sleep(Duration::from_millis(2)).await;
    }
    panic!("the server never came back");
}

/// The settle is confirmed, not on the disk, and lost with the crash: the row is there again. The relay's role is an ordinary one.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_recovery_brings_back_is_read_again() {
    let servers = OwnServers::start();
    let admin = connect(&servers.address).await;
    for statement in [
        "CREATE ROLE ordinary LOGIN",
        "CREATE DATABASE own OWNER ordinary",
        // Nothing that is not asked for reaches the disk while the test runs.
        "ALTER SYSTEM SET wal_writer_delay = '10s'",
        "ALTER SYSTEM SET bgwriter_delay = '10s'",
        "SELECT pg_reload_conf()",
    ] {
        admin.batch_execute(statement).await.unwrap();
    }
    let base = servers.address.rsplit_once('/').unwrap().0;
    let address = format!("{}/own", base.replace("postgres@", "ordinary@"));
    let store = PostgresStore::new(&address, PostgresOptions::default()).unwrap();
    store.migrate(Layout { shards: 1 }, None).await.unwrap();
    let (mut reader, leases) = owning_reader(&store).await;
    let mut client = connect(&address).await;
    let mut came_back = false;
    for _ in 0..5 {
        client.batch_execute("SET synchronous_commit = on").await.unwrap();
        let number = insert(&client, None, "{}").await;
        let mut fresh = Vec::new();
        while fresh.is_empty() {
            fresh = numbers(&reader.read(&room(10)).await.unwrap().fresh);
        }
        assert!(fresh.contains(&number));
        store
            .settle(&worker("w"), &[delivered(leases[0], id_of(number))])
            .await
            .unwrap();
        client = kill(&address, client).await;
        came_back = scalar(&client, "SELECT count(*) FROM redeliver_outbox").await != "0";
        if came_back {
            let mut found = reader.read(&room(10)).await;
            while found.is_err() {
                found = reader.read(&room(10)).await;
            }
            assert_eq!(numbers(&found.unwrap().fresh), [number]);
            break;
        }
    }
    assert!(came_back, "no crash lost a commit");
}

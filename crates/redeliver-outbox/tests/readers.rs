//! The readers of PostgreSQL, MariaDB and MySQL under real concurrency.
//!
//! Writers with overlapping transactions of random length insert messages, some in bulk, and roll some back; whoever writes for a key
//! locks its row in `aggregates` first and bumps its version, so the order of each key is known. One writer and one snapshot stay open
//! for a long stretch. Workers own the shards, read, and settle what they read by the relay's rules for lanes; they release, crash, or
//! stand still until others have taken over. Everything that a reader returned is put down, and judged at the end: nothing lost, nothing
//! twice, every key in order.
//!
//! A short run is part of the suite. The full one, with its progress:
//!
//! ```sh
//! REDELIVER_READERS_ROWS=200000 cargo test --release -p redeliver-outbox --features postgres,mysql --test readers -- --nocapture --test-threads=1
//! ```
//!
//! `REDELIVER_READERS_SEED` draws other transactions, pauses and ends. The servers' own timing is in no seed: a failure need not come
//! again, so the rows that it concerns are printed with all that happened to them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and a long one tells how far it is"
)]

#[path = "readers/cluster.rs"]
mod cluster;
#[path = "postgres/database.rs"]
#[expect(dead_code, reason = "the store's own tests use the rest")]
mod database;
#[path = "readers/held.rs"]
mod held;
#[path = "readers/judge.rs"]
mod judge;
#[path = "readers/lane.rs"]
mod lane;
#[path = "readers/ledger.rs"]
mod ledger;
#[path = "readers/life.rs"]
mod life;
#[path = "readers/log.rs"]
mod log;
#[path = "readers/run.rs"]
mod run;
#[path = "readers/server.rs"]
mod server;
#[path = "mysql/support.rs"]
#[expect(dead_code, reason = "the store's own tests use the rest")]
mod support;
#[path = "readers/worker.rs"]
mod worker;
#[path = "readers/writer.rs"]
mod writer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_loses_nothing_reads_nothing_twice_and_keeps_every_key_in_order() {
    let server = server::Postgres::start().await;
    run::run("PostgreSQL", std::sync::Arc::new(server)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_loses_nothing_reads_nothing_twice_and_keeps_every_key_in_order() {
    let server = server::MySql::start("REDELIVER_TEST_MARIADB").await;
    run::run("MariaDB", std::sync::Arc::new(server)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mysql_loses_nothing_reads_nothing_twice_and_keeps_every_key_in_order() {
    let server = server::MySql::start("REDELIVER_TEST_MYSQL").await;
    run::run("MySQL", std::sync::Arc::new(server)).await;
}

/// Galera or Group Replication, as `./test servers galera group` starts them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: ./test servers galera group"]
async fn a_cluster_loses_nothing_reads_nothing_twice_and_keeps_every_key_in_order() {
    let server = cluster::Cluster::start().await;
    run::run("Cluster", std::sync::Arc::new(server)).await;
}

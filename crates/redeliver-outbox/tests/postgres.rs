//! The PostgreSQL store against a real server.
#![cfg(feature = "postgres")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "postgres/database.rs"]
mod database;
#[path = "postgres/desk.rs"]
mod desk;
#[path = "postgres/fence.rs"]
mod fence;
#[path = "postgres/lease.rs"]
mod lease;
#[path = "postgres/lost.rs"]
mod lost;
#[path = "postgres/migrate.rs"]
mod migrate;
#[path = "postgres/pooler.rs"]
mod pooler;
#[path = "postgres/reader.rs"]
mod reader;
#[path = "postgres/recovery.rs"]
mod recovery;
#[path = "postgres/relay.rs"]
mod relay;
#[path = "postgres/rewrite.rs"]
mod rewrite;
#[path = "postgres/schema.rs"]
mod schema;
#[path = "postgres/sequence.rs"]
mod sequence;
#[path = "postgres/settle.rs"]
mod settle;
#[path = "postgres/standby.rs"]
mod standby;
#[path = "postgres/strange.rs"]
mod strange;
#[path = "postgres/tenant.rs"]
mod tenant;

//! A cluster whose two nodes both take writes: the store reads one, and every second writer is on the other.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_core::future::BoxFuture;
use redeliver_outbox::store::Store;

use crate::{
    server::{SHARDS, Server, Session},
    support,
};

pub(crate) struct Cluster {
    database: support::Database,
    connections: AtomicUsize,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        Self {
            database: support::Database::with_shards("REDELIVER_TEST_NODE1", SHARDS).await,
            connections: AtomicUsize::new(0),
        }
    }
}

impl Server for Cluster {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.database.store.clone())
    }

    fn connect(&self) -> BoxFuture<'_, Box<dyn Session>> {
        Box::pin(async {
            let other = self.connections.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            let connection = if other {
                self.database.client_of("REDELIVER_TEST_NODE2").await
            } else {
                self.database.client().await
            };
            Box::new(connection) as Box<dyn Session>
        })
    }

    fn connect_beside(&self) -> BoxFuture<'_, Box<dyn Session>> {
        Box::pin(async { Box::new(self.database.client().await) as Box<dyn Session> })
    }

    fn begin_snapshot(&self) -> &'static str {
        "START TRANSACTION WITH CONSISTENT SNAPSHOT"
    }
}

//! Where the sequence of numbers stands, which the reader's idle check relies on.

use crate::database::Database;

/// The trap: a sequence that is read as a table shows numbers that it has only set aside. A reader that saw it go back would take the
/// database for a restored one, and read every message again. With a cache that each step throws away, that moment comes with every
/// number.
#[tokio::test(flavor = "multi_thread")]
async fn the_sequence_never_goes_back() {
    let (database, _store) = Database::migrated(1).await;
    let watcher = database.client().await;
    watcher
        .batch_execute("ALTER SEQUENCE redeliver_outbox_number CACHE 64; SELECT pg_advisory_lock(7)")
        .await
        .unwrap();
    let writers: Vec<_> = (0..2)
        .map(|_| {
            let url = database.url.clone();
            tokio::spawn(async move {
                let client = crate::database::connect(&url).await;
                let take = "DO $$ BEGIN LOOP
                                PERFORM nextval('redeliver_outbox_number');
                                DISCARD SEQUENCES;
                                EXIT WHEN pg_try_advisory_xact_lock_shared(7);
                            END LOOP; END $$";
                client.batch_execute(take).await.unwrap();
            })
        })
        .collect();
    let watch = format!(
        "DO $$ DECLARE before bigint := 0; stands bigint; BEGIN
             FOR look IN 1..400000 LOOP
                 stands := ({});
                 IF stands < before THEN RAISE 'look %: from % back to %', look, before, stands; END IF;
                 before := stands;
             END LOOP;
             IF before < 1000 THEN RAISE 'only % numbers were taken meanwhile', before; END IF;
         END $$",
        include_str!("../../src/store/postgres/sql/read_sequence.sql")
    );
    let watched = watcher.batch_execute(&watch).await;
    watcher
        .batch_execute("SELECT pg_advisory_unlock(7)")
        .await
        .unwrap();
    for writer in writers {
        writer.await.unwrap();
    }
    watched.unwrap();
}

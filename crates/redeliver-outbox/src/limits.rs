//! Every limit of the outbox, with its default. The ones that a user may set are fields of a configuration whose default is here.

use std::time::Duration;

/// The longest error text that is kept, in bytes.
pub const ERROR_LIMIT: usize = 1000;
/// The most hidden values of a message that are looked for in what its destination says of it. Where there are more, a mark stands in the
/// place of all that the destination says: the relay has other things to do.
pub const CLEARED_VALUES: usize = 1000;
/// The same in bytes of hidden text.
pub const CLEARED_BYTES: usize = 32 << 10;
/// The longest name of a destination, in bytes.
pub const DESTINATION_LIMIT: usize = 200;
/// The longest topic, and the longest pattern of topics, in bytes.
pub const TOPIC_LIMIT: usize = 200;
/// The longest key of a lane, in bytes.
pub const KEY_LIMIT: usize = 1000;
/// The longest de-duplication key, in bytes.
pub const DEDUPLICATION_KEY_LIMIT: usize = 500;
/// The largest payload, unless the configuration says otherwise.
pub const PAYLOAD_LIMIT: usize = 1 << 20;
/// The largest set of headers, as JSON, in bytes.
pub const HEADERS_LIMIT: usize = 16 << 10;
/// The longest content type and the longest traceparent, in bytes.
pub const HEADER_COLUMN_LIMIT: usize = 200;
/// The longest delay, and the longest time to live.
pub const LONGEST_DELAY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// The last millisecond that every database can hold: the end of the year 9999.
pub const LATEST_MILLIS: i64 = 253_402_300_799_999;
/// The most messages that are inserted in one statement.
pub const ENQUEUE_BATCH: usize = 500;
/// The most bytes that are inserted in one statement, unless one message is larger: a quarter of the smallest usual packet of MariaDB.
pub const ENQUEUE_BATCH_BYTES: usize = 4 << 20;
/// The longest name of a consumer, in bytes.
pub const CONSUMER_LIMIT: usize = 200;
/// The longest message id that an inbox takes, in bytes: other senders have other ids than ours.
pub const INBOX_ID_LIMIT: usize = 100;
/// How long a silent worker keeps its shards.
pub const LEASE: Duration = Duration::from_secs(10);
/// The most messages that a relay holds, being sent or about to be.
pub const WINDOW: usize = 1024;
/// The most bytes of messages that a relay holds.
pub const WINDOW_BYTES: usize = 64 << 20;
/// The most messages of one lane that a relay holds; the rest is read again when it is their turn.
pub const LANE_WINDOW: usize = 32;
/// The most messages that are read in one statement.
pub const READ_BATCH: usize = 500;
/// The most messages that are settled in one transaction.
pub const SETTLE_BATCH: usize = 500;
/// How long a verdict waits for others to be written with, while messages are on their way.
pub const SETTLE_LINGER: Duration = Duration::from_millis(5);
/// How soon a verdict that the database refuses is tried again, at first.
pub const STUCK_RETRY_SOONEST: Duration = Duration::from_secs(1);
/// How late it is tried again at last.
pub const STUCK_RETRY_LATEST: Duration = Duration::from_secs(60);
/// The most refused verdicts of a destination: one that has so many gets nothing until the database takes them.
pub const STUCK_FOR_DESTINATION: usize = 100;
/// The most refused verdicts of a relay: past that, every destination that has one gets nothing.
pub const STUCK_VERDICTS: usize = 1000;
/// How many refused verdicts of a destination are shown with their reasons.
pub const STUCK_SHOWN: usize = 5;
/// How soon an idle relay looks again at first.
pub const POLL_SOONEST: Duration = Duration::from_millis(20);
/// How late an idle relay looks again at last.
pub const POLL_LATEST: Duration = Duration::from_millis(250);
/// How often a relay that reads looks for rows that appeared behind its cursors.
pub const LOOK_BEHIND_EVERY: Duration = Duration::from_secs(1);
/// How many rows behind the cursors one look reads.
pub const LOOK_BEHIND_ROWS: usize = 1000;
/// A look that takes longer than this is followed by one that covers fewer numbers.
pub const LOOK_BEHIND_TIME: Duration = Duration::from_millis(20);
/// The fewest numbers that a look covers again, over all shards.
pub const LOOK_BEHIND_NUMBERS: i64 = 1 << 18;
/// The fewest numbers that it covers for the first time, in each shard.
pub const LOOK_BEHIND_NEW_NUMBERS: i64 = 1 << 12;
/// How many sends go to one destination at a time.
pub const CONCURRENCY: usize = 32;
/// How many workers one process runs.
pub const WORKERS: usize = 1;
/// How long a stopping relay waits for what it is sending.
pub const SHUTDOWN: Duration = Duration::from_secs(20);
/// How long a de-duplication key is remembered.
pub const DEDUPLICATION_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long the history of what was sent is kept.
pub const HISTORY_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many events of the history one step of a replay looks at.
pub const REPLAY_BATCH: usize = 500;
/// How many rows of a foreign table an import reads at a time.
pub const IMPORT_BATCH: usize = 500;
/// The most rows that it may be told to read at a time.
pub const IMPORT_LARGEST_BATCH: usize = 10_000;
/// The most bytes of a foreign table that an import holds, unless one row is larger.
pub const IMPORT_BATCH_BYTES: usize = 8 << 20;
/// A row of a foreign table with more bytes than this is not read at all: no message can be made of it.
pub const IMPORT_LARGEST_ROW: usize = PAYLOAD_LIMIT + HEADERS_LIMIT + (16 << 10);
/// How long a foreign database may take to read one batch.
pub const IMPORT_PATIENCE: Duration = Duration::from_secs(300);
/// How long after a place was passed a row may still be committed before it, for an import that goes on to find it.
pub const IMPORT_LOOK_BACK: Duration = LONGEST_TRANSACTION;
/// How often an import that goes on looks for such rows.
pub const IMPORT_LOOK_BACK_EVERY: Duration = Duration::from_secs(5);
/// The most rows that it remembers to have passed; past that it looks back less far.
pub const IMPORT_TRAIL: usize = 1_000_000;
/// How soon an import that goes on looks for more when there was nothing.
pub const IMPORT_POLL: Duration = Duration::from_millis(250);
/// How often an import that takes long says in the audit trail how far it is.
pub const IMPORT_RECORD_EVERY: Duration = Duration::from_secs(3600);
/// The same while nothing comes: much sooner than its rows are forgotten, so that it is known where to go on when it is killed.
pub const IMPORT_IDLE_RECORD_EVERY: Duration = Duration::from_secs(24 * 3600);
/// The longest name of an import, in bytes: it is part of each row's de-duplication key.
pub const IMPORT_NAME_LIMIT: usize = 64;
/// How many entries one step of a look through the audit trail reads.
pub const AUDIT_BATCH: usize = 200;
/// How many numbers a search looks at first.
pub const SEARCH_FIRST_WINDOW: i64 = 2000;
/// How many numbers a search looks at with one statement at most, however long it has found nothing.
pub const SEARCH_LARGEST_WINDOW: i64 = 200_000;
/// How many live messages are looked at to tell how deep some lanes are: no index tells it.
pub const DEPTH_ROWS: usize = 25_000;
/// From here on a lane is just deep.
pub const DEEPEST_LANE: u64 = 10_000;
/// How many scheduled messages are looked at to find the lanes that wait for one of them.
pub const BLOCKED_ROWS: usize = 5000;
/// The most dead letters that are patched at a time: each is an edit of its own in the audit trail.
pub const PATCH_LIMIT: usize = 1000;
/// How many of them are shown before they are changed.
pub const PATCH_SAMPLE: usize = 3;
/// How many of them are read at a time, with their payloads.
pub const PATCH_BATCH: usize = 20;
/// How many dead letters a job lets out first, before it knows what becomes of them.
pub const JOB_CANARY: u32 = 5;
/// So many times as many as the time before, each time.
pub const JOB_FACTOR: u32 = 2;
/// How long a job waits between two steps.
pub const JOB_INTERVAL: Duration = Duration::from_secs(2);
/// A job stops by itself when more than so many of a thousand of its messages fail.
pub const JOB_STOP_PERMILLE: u16 = 200;
/// The most dead letters that a job lets out in one step.
pub const JOB_BATCH: usize = 1000;
/// How many numbers one step of a job looks through for dead letters that match.
pub const JOB_WINDOW: i64 = 20_000;
/// The most messages of a job that nothing is known of yet: more are not let out, and all of them are looked at in one step.
pub const JOB_BACKLOG: usize = 5000;
/// How many of the messages that a job let out last, of those of which something is known, it is judged by besides all of them.
pub const JOB_LATELY: usize = 1000;
/// How many messages of a job that were attempted in vain are looked at again in one step.
pub const JOB_LOOK: usize = 1000;
/// How many dead letters a preview of a job shows.
pub const JOB_SAMPLE: usize = 5;
/// How long a job that is due stays with a process that has gone silent.
pub const JOB_LEASE: Duration = Duration::from_secs(10);
/// How many jobs that are due are tried in turn, until one of them takes a step.
pub const JOB_DUE: usize = 100;
/// How soon a step of a job that failed is tried again, at first: twice as late each time.
pub const JOB_RETRY_SOONEST: Duration = Duration::from_secs(2);
/// How late it is tried again at last.
pub const JOB_RETRY_LATEST: Duration = Duration::from_secs(300);
/// How long a job that is over is remembered, with what became of its messages.
pub const JOB_RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many rows one step of retention removes.
pub const RETENTION_BATCH: usize = 1000;
/// How many rows one step of retention looks at to find them, in a history that has no index by time.
pub const RETENTION_LOOK: usize = 10_000;

/// The most shards of an outbox: every beat tells of each.
pub const MOST_SHARDS: u16 = 4096;
/// How many shards an outbox on PostgreSQL has, unless it is made with another number: the most workers that share it.
pub const POSTGRES_SHARDS: u16 = 64;
/// The same on MariaDB and MySQL, where each shard that has something to read costs a statement.
pub const MYSQL_SHARDS: u16 = 16;
/// How long a migration waits for another process that is changing the tables, or for transactions that use them.
pub const MIGRATION_WAIT: Duration = Duration::from_secs(600);
/// How long a lock of a migration waits at a time: whoever comes after it waits as long.
pub const MIGRATION_LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause between, in which the others get through.
pub const MIGRATION_LOCK_PAUSE: Duration = Duration::from_secs(2);
/// How often a long step of a migration is reported.
pub const MIGRATION_PROGRESS: Duration = Duration::from_secs(10);
/// A due message of a lane that stands still looks again after this long.
pub const STANDING_LANE_LOOK: Duration = Duration::from_secs(60);
/// How long a lane that was let go on is remembered: longer than any relay that is alive goes without reading.
pub const RESUMED_LANE_RETENTION: Duration = Duration::from_secs(3600);
/// How long a worker that has gone, and that owns nothing, is still shown to operators.
pub const SILENT_WORKER_RETENTION: Duration = Duration::from_secs(3600);
/// How far this machine's clock may be from the database's before people who read both are misled.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(5);
/// The prepared statements that a connection keeps: more than there are, so that each is prepared once.
pub const CACHED_STATEMENTS: usize = 128;
/// The most messages that SQLite takes by name at a time: it has a limit for the terms of one expression.
pub const SQLITE_NAMED_MESSAGES: usize = 900;
/// How long a connection to SQLite waits for another one's transaction.
pub const SQLITE_LOCK_WAIT: Duration = Duration::from_secs(5);
/// The most messages that PostgreSQL takes by name at a time: a statement has 65,535 parameters, and a message named by its id is two.
pub const POSTGRES_NAMED_MESSAGES: usize = 30_000;
/// The most connections to PostgreSQL: one that reads, one that settles, one that beats, one for the desk.
pub const POSTGRES_CONNECTIONS: usize = 4;
/// The most connections to MariaDB or MySQL.
pub const MYSQL_CONNECTIONS: usize = 8;
/// How long a connection to a server may take to come about.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a database server may take to answer before the connection counts as lost.
pub const SERVER_PATIENCE: Duration = Duration::from_secs(30);
/// How long a statement waits for a lock of MariaDB or MySQL before it gives up, to be tried again.
pub const MYSQL_LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long a writer's transaction lasts at most, where MariaDB or MySQL does not let us see which ones are running.
pub const LONGEST_TRANSACTION: Duration = Duration::from_secs(300);
/// How many rows of MariaDB or MySQL are named in one statement: long lists cost the server more than another round trip.
pub const MYSQL_NAMED_ROWS: usize = 512;

/// An error text cut to what is kept, at the border of a character, without characters that no terminal and no database should meet.
#[must_use]
pub fn error_text(text: &str) -> String {
    let mut kept = String::with_capacity(text.len().min(ERROR_LIMIT));
    for character in text.chars() {
        let character = if character.is_control() { ' ' } else { character };
        if kept.len() + character.len_utf8() > ERROR_LIMIT {
            break;
        }
        kept.push(character);
    }
    kept
}

//! Every limit of the outbox, with its default. The ones that a user may set are fields of a configuration whose default is here.

use std::time::Duration;

/// The longest error text that is kept, in bytes.
pub const ERROR_LIMIT: usize = 1000;
/// The longest name of a destination, in bytes.
pub const DESTINATION_LIMIT: usize = 200;
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
/// How soon an idle relay looks again at first.
pub const POLL_SOONEST: Duration = Duration::from_millis(20);
/// How late an idle relay looks again at last.
pub const POLL_LATEST: Duration = Duration::from_millis(250);
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
/// How many rows one step of retention removes.
pub const RETENTION_BATCH: usize = 1000;

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

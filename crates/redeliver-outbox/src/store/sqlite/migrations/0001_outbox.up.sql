-- The hot table: what is live, and nothing else. Times are milliseconds since 1970, UTC; julianday tells them, because an application
-- may insert with a SQLite older than 3.42, whose unixepoch knows no milliseconds and would give NULL.
CREATE TABLE redeliver_outbox (
    number          INTEGER PRIMARY KEY AUTOINCREMENT -- never given twice, not even after the newest row is gone
                    CHECK (number BETWEEN 1 AND 1152921504606846975), -- 60 bits are what an id has room for
    salt            INTEGER NOT NULL DEFAULT (random()),
    shard           INTEGER NOT NULL GENERATED ALWAYS AS ({shard_of_row}) VIRTUAL,
    destination     TEXT    NOT NULL,
    lane            TEXT,
    payload         TEXT,
    payload_binary  BLOB,
    content_type    TEXT,
    headers         TEXT,
    traceparent     TEXT,
    not_before      INTEGER,
    expires_at      INTEGER,
    created_at      INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    attempts        INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    redrives        INTEGER NOT NULL DEFAULT 0 CHECK (redrives >= 0),
    next_attempt_at INTEGER,
    last_attempt_at INTEGER,
    last_error      TEXT,
    last_wait_ms    INTEGER NOT NULL DEFAULT 0,
    CHECK ((payload IS NULL) <> (payload_binary IS NULL)),
    CHECK (attempts = 0 OR last_attempt_at IS NOT NULL)
) STRICT; -- a producer that writes a text where a number belongs hears of it at once
{index_of_shards}-- Empty while everything succeeds at the first attempt.
CREATE INDEX local_redeliver_outbox_due ON redeliver_outbox (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

CREATE TABLE redeliver_dead (
    number           INTEGER PRIMARY KEY,
    salt             INTEGER NOT NULL,
    shard            INTEGER NOT NULL,
    destination      TEXT    NOT NULL,
    lane             TEXT,
    payload          TEXT,
    payload_binary   BLOB,
    content_type     TEXT,
    headers          TEXT,
    traceparent      TEXT,
    not_before       INTEGER,
    expires_at       INTEGER,
    created_at       INTEGER NOT NULL,
    attempts         INTEGER NOT NULL CHECK (attempts >= 0),
    redrives         INTEGER NOT NULL CHECK (redrives >= 0),
    last_attempt_at  INTEGER,
    last_error       TEXT    NOT NULL,
    reason           TEXT    NOT NULL CHECK (length(reason) BETWEEN 1 AND 40),
    gap              INTEGER NOT NULL DEFAULT 0 CHECK (gap IN (0, 1)), -- its lane went on without it
    dead_lettered_at INTEGER NOT NULL,
    edited_at        INTEGER,
    original_payload        TEXT, -- as it was inserted, once an operator has changed it
    original_payload_binary BLOB,
    discarded_at     INTEGER,
    CHECK ((payload IS NULL) <> (payload_binary IS NULL))
);

CREATE TABLE redeliver_sent (
    number          INTEGER PRIMARY KEY,
    salt            INTEGER NOT NULL,
    shard           INTEGER NOT NULL,
    destination     TEXT    NOT NULL,
    lane            TEXT,
    payload         TEXT,
    payload_binary  BLOB,
    content_type    TEXT,
    headers         TEXT,
    traceparent     TEXT,
    created_at      INTEGER NOT NULL,
    attempts        INTEGER NOT NULL CHECK (attempts >= 1),
    redrives        INTEGER NOT NULL CHECK (redrives >= 0),
    last_error      TEXT,
    sent_at         INTEGER NOT NULL,
    took_ms         INTEGER NOT NULL
);

-- Attempts that failed, or that were counted before the send and never heard of again.
CREATE TABLE redeliver_attempts (
    number   INTEGER NOT NULL,
    redrive  INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    took_ms  INTEGER,
    class    TEXT    NOT NULL,
    error    TEXT    NOT NULL,
    worker   TEXT    NOT NULL,
    PRIMARY KEY (number, redrive, attempt)
) WITHOUT ROWID;

CREATE TABLE redeliver_shards (
    shard    INTEGER PRIMARY KEY,
    owner    TEXT,
    epoch    INTEGER NOT NULL DEFAULT 0,
    clean    INTEGER NOT NULL DEFAULT 1 CHECK (clean IN (0, 1)), -- whether the last owner left nothing on its way
    held     INTEGER NOT NULL DEFAULT 0, -- the most messages that its owner, or the last one, held at a time
    taken_at INTEGER
);

CREATE TABLE redeliver_workers (
    worker      TEXT    PRIMARY KEY,
    started_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    in_flight   INTEGER NOT NULL DEFAULT 0
);

-- Lanes whose head is a dead letter and that wait for an operator.
CREATE TABLE redeliver_lanes (
    shard       INTEGER NOT NULL,
    destination TEXT    NOT NULL,
    lane        TEXT    NOT NULL,
    head        INTEGER NOT NULL,
    parked_at   INTEGER NOT NULL,
    resumed_at  INTEGER,
    PRIMARY KEY (shard, destination, lane)
);

CREATE TABLE redeliver_deduplication (
    deduplication_key TEXT    PRIMARY KEY,
    number            INTEGER NOT NULL,
    salt              INTEGER NOT NULL,
    created_at        INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
);

CREATE TABLE redeliver_audit (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    who     TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    message_number INTEGER,
    message_salt   INTEGER,
    why     TEXT    NOT NULL,
    detail  TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX local_redeliver_audit_message ON redeliver_audit (message_number) WHERE message_number IS NOT NULL;

-- Ids that a consumer has seen. It belongs into the consumer's own database; here it is when both are the same.
CREATE TABLE redeliver_inbox (
    consumer    TEXT    NOT NULL,
    message_id  TEXT    NOT NULL,
    received_at INTEGER NOT NULL DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    PRIMARY KEY (consumer, message_id)
) WITHOUT ROWID;
CREATE INDEX local_redeliver_inbox_received ON redeliver_inbox (received_at);

WITH RECURSIVE counted (shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM counted WHERE shard + 1 < {shards})
INSERT INTO redeliver_shards (shard) SELECT shard FROM counted;

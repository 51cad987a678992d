-- SQLite changes no constraint of a table that is there: the hot table is made anew. What had neither a destination nor, as yet, a topic
-- becomes a dead letter as before: no route is that of a dash.
DROP VIEW redeliver_messages;
CREATE TABLE redeliver_outbox_next (
    number          INTEGER PRIMARY KEY AUTOINCREMENT -- never given twice, not even after the newest row is gone
                    CHECK (number BETWEEN 1 AND 1152921504606846975), -- 60 bits are what an id has room for
    salt            INTEGER NOT NULL DEFAULT (random()),
    shard           INTEGER NOT NULL GENERATED ALWAYS AS ({shard_of_row}) VIRTUAL,
    destination     TEXT    NOT NULL DEFAULT '', -- empty: an event, which goes where the routes of its topic lead
    topic           TEXT,
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
    CHECK (attempts = 0 OR last_attempt_at IS NOT NULL),
    CHECK (destination <> '' OR COALESCE(topic, '') <> '')
) STRICT;

INSERT INTO redeliver_outbox_next (
    topic, number, salt, destination, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms)
SELECT
    CASE WHEN destination = '' THEN '-' END, number, salt, destination, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms
FROM redeliver_outbox;
-- No number is given a second time, also if it was the last one's and its row is gone.
DELETE FROM sqlite_sequence WHERE name = 'redeliver_outbox_next';
INSERT INTO sqlite_sequence (name, seq) SELECT 'redeliver_outbox_next', seq FROM sqlite_sequence WHERE name = 'redeliver_outbox';
DROP TABLE redeliver_outbox;
ALTER TABLE redeliver_outbox_next RENAME TO redeliver_outbox;
{index_of_shards}CREATE INDEX local_redeliver_outbox_due ON redeliver_outbox (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

ALTER TABLE redeliver_dead ADD COLUMN topic TEXT;
UPDATE redeliver_dead SET topic = '-' WHERE destination = '';
ALTER TABLE redeliver_sent ADD COLUMN topic TEXT;

-- Events, once each has become a message for every destination that the routes named.
CREATE TABLE redeliver_events (
    number          INTEGER PRIMARY KEY,
    salt            INTEGER NOT NULL,
    shard           INTEGER NOT NULL,
    topic           TEXT    NOT NULL,
    lane            TEXT,
    payload         TEXT,
    payload_binary  BLOB,
    content_type    TEXT,
    headers         TEXT,
    traceparent     TEXT,
    created_at      INTEGER NOT NULL,
    fanned_out_at   INTEGER NOT NULL
);

-- Which message was made of which event, for which destination: never two.
CREATE TABLE redeliver_fan_out (
    event_number INTEGER NOT NULL,
    event_salt   INTEGER NOT NULL,
    destination  TEXT    NOT NULL,
    number       INTEGER NOT NULL,
    PRIMARY KEY (event_number, destination)
) WITHOUT ROWID;
CREATE INDEX local_redeliver_fan_out_number ON redeliver_fan_out (number);

-- Each column has one type in all four parts: only then does SQLite look for a page in the tables themselves, by number, instead
-- of gathering everything first.
CREATE VIEW redeliver_messages AS
SELECT
    printf('%08x-%04x-8%03x-%04x-%012x',
        (message.number >> 28) & 0xffffffff, (message.number >> 12) & 0xffff, message.number & 0xfff,
        0x8000 | ((message.salt >> 48) & 0x3fff), message.salt & 0xffffffffffff) AS id,
    message.number,
    message.salt,
    message.shard,
    CASE
        WHEN parked.head IS NOT NULL THEN 'parked'
        WHEN owner.worker IS NOT NULL THEN 'processing'
        WHEN message.attempts > 0 THEN 'failed'
        ELSE 'pending'
    END AS status,
    message.destination,
    message.topic,
    message.lane,
    message.attempts,
    message.redrives,
    message.created_at,
    NULLIF(COALESCE(message.next_attempt_at, message.not_before), 253402214400000) AS next_attempt_at,
    message.last_attempt_at,
    message.last_error,
    CASE WHEN parked.head IS NULL THEN owner.worker END AS locked_by,
    CASE WHEN parked.head IS NULL AND owner.worker IS NOT NULL THEN shard.taken_at END AS locked_at,
    CAST(NULL AS TEXT) AS dead_letter_reason,
    CAST(NULL AS INTEGER) AS dead_lettered_at,
    CAST(NULL AS INTEGER) AS sent_at,
    CAST(NULL AS INTEGER) AS discarded_at,
    CAST(NULL AS INTEGER) AS fanned_out_at,
    message.expires_at,
    message.content_type,
    message.headers,
    message.traceparent,
    message.payload,
    message.payload_binary,
    COALESCE(message.next_attempt_at = 253402214400000, 0) AS put_away
FROM redeliver_outbox AS message
LEFT JOIN redeliver_lanes AS parked
    ON parked.shard = message.shard AND parked.destination = message.destination AND parked.lane = message.lane
    AND parked.resumed_at IS NULL AND parked.head <> message.number
LEFT JOIN redeliver_shards AS shard ON shard.shard = message.shard
-- The owner of a message that is due, if its lease holds.
LEFT JOIN redeliver_workers AS owner
    ON owner.worker = shard.owner AND owner.lease_until >= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
    AND COALESCE(message.next_attempt_at, message.not_before, 0) <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
UNION ALL
SELECT
    printf('%08x-%04x-8%03x-%04x-%012x',
        (number >> 28) & 0xffffffff, (number >> 12) & 0xffff, number & 0xfff,
        0x8000 | ((salt >> 48) & 0x3fff), salt & 0xffffffffffff),
    number,
    salt,
    shard,
    CASE WHEN discarded_at IS NULL THEN 'dead_lettered' ELSE 'discarded' END,
    destination,
    topic,
    lane,
    attempts,
    redrives,
    created_at,
    NULL,
    last_attempt_at,
    last_error,
    NULL,
    NULL,
    reason,
    dead_lettered_at,
    CAST(NULL AS INTEGER),
    discarded_at,
    CAST(NULL AS INTEGER),
    expires_at,
    content_type,
    headers,
    traceparent,
    payload,
    payload_binary,
    0
FROM redeliver_dead
UNION ALL
SELECT
    printf('%08x-%04x-8%03x-%04x-%012x',
        (number >> 28) & 0xffffffff, (number >> 12) & 0xffff, number & 0xfff,
        0x8000 | ((salt >> 48) & 0x3fff), salt & 0xffffffffffff),
    number,
    salt,
    shard,
    'sent',
    destination,
    topic,
    lane,
    attempts,
    redrives,
    created_at,
    NULL,
    sent_at,
    last_error,
    NULL,
    NULL,
    CAST(NULL AS TEXT),
    CAST(NULL AS INTEGER),
    sent_at,
    CAST(NULL AS INTEGER),
    CAST(NULL AS INTEGER),
    CAST(NULL AS INTEGER),
    content_type,
    headers,
    traceparent,
    payload,
    payload_binary,
    0
FROM redeliver_sent
UNION ALL
SELECT
    printf('%08x-%04x-8%03x-%04x-%012x',
        (number >> 28) & 0xffffffff, (number >> 12) & 0xffff, number & 0xfff,
        0x8000 | ((salt >> 48) & 0x3fff), salt & 0xffffffffffff),
    number,
    salt,
    shard,
    'fanned_out',
    CAST('' AS TEXT),
    topic,
    lane,
    CAST(0 AS INTEGER),
    CAST(0 AS INTEGER),
    created_at,
    NULL,
    CAST(NULL AS INTEGER),
    CAST(NULL AS TEXT),
    NULL,
    NULL,
    CAST(NULL AS TEXT),
    CAST(NULL AS INTEGER),
    CAST(NULL AS INTEGER),
    CAST(NULL AS INTEGER),
    fanned_out_at,
    CAST(NULL AS INTEGER),
    content_type,
    headers,
    traceparent,
    payload,
    payload_binary,
    0
FROM redeliver_events;

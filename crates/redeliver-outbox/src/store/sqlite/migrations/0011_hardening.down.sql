DROP VIEW redeliver_messages;
ALTER TABLE redeliver_outbox DROP COLUMN deferred;

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
    COALESCE(message.next_attempt_at = 253402214400000, 0) AS put_away,
    'live' AS place,
    CAST('' AS TEXT) AS fingerprint
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
    0,
    'dead',
    fingerprint
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
    0,
    'sent',
    CAST('' AS TEXT)
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
    0,
    'event',
    CAST('' AS TEXT)
FROM redeliver_events;

CREATE TABLE redeliver_dead_before AS SELECT * FROM redeliver_dead;
DROP TABLE redeliver_dead;
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
    topic            TEXT,
    fingerprint      TEXT    NOT NULL DEFAULT '',
    CHECK ((payload IS NULL) <> (payload_binary IS NULL))
);
INSERT INTO redeliver_dead (
    number, salt, shard, destination, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at, created_at,
    attempts, redrives, last_attempt_at, last_error, reason, gap, dead_lettered_at, edited_at, original_payload, original_payload_binary,
    discarded_at, topic, fingerprint)
SELECT
    number, salt, shard, destination, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at, created_at,
    attempts, redrives, last_attempt_at, last_error, reason, gap, dead_lettered_at, edited_at, original_payload, original_payload_binary,
    discarded_at, topic, fingerprint
FROM redeliver_dead_before;
DROP TABLE redeliver_dead_before;
CREATE INDEX local_redeliver_dead_issue ON redeliver_dead (fingerprint, dead_lettered_at, number) WHERE discarded_at IS NULL;
CREATE INDEX local_redeliver_dead_discarded ON redeliver_dead (discarded_at) WHERE discarded_at IS NOT NULL;

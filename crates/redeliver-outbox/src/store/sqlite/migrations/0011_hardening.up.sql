-- A number may be given twice, after a restore or a reset of sqlite_sequence: a dead letter is known by its whole id, and none stands in
-- another's way. SQLite changes no primary key: the table is made again, without a rename, which the view over it would not bear.
CREATE TABLE redeliver_dead_before AS SELECT * FROM redeliver_dead;
DROP TABLE redeliver_dead;
CREATE TABLE redeliver_dead (
    number           INTEGER NOT NULL,
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
    PRIMARY KEY (number, salt),
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

-- Every statement may run again, as in the first step; a column that is there already is no error here.
-- Whether a message waits until its destination takes messages again. Its time alone does not say so: a sender may ask for any time.
ALTER TABLE redeliver_outbox ADD COLUMN deferred BOOLEAN NOT NULL DEFAULT false;
UPDATE redeliver_outbox SET deferred = true
WHERE next_attempt_at = TIMESTAMP '9999-12-31 00:00:00' AND NOT (not_before <=> next_attempt_at);

-- The same views again, with the new column. Their own texts have the collation of the tables: with that of a connection, clients
-- of another collation could not read them ("Illegal mix of collations").
CREATE OR REPLACE VIEW redeliver_messages_live AS
SELECT
    CONVERT(LOWER(CONCAT(
        LPAD(HEX((m.number >> 28) & 4294967295), 8, '0'), '-', LPAD(HEX((m.number >> 12) & 65535), 4, '0'), '-8',
        LPAD(HEX(m.number & 4095), 3, '0'), '-', LPAD(HEX(32768 | ((m.salt >> 48) & 16383)), 4, '0'), '-',
        LPAD(HEX(m.salt & 281474976710655), 12, '0')
    )) USING utf8mb4) COLLATE utf8mb4_bin AS id,
    m.number,
    m.salt,
    m.shard,
    CASE
        WHEN l.head IS NOT NULL AND l.resumed_at IS NULL AND l.head <> m.number THEN _utf8mb4'parked' COLLATE utf8mb4_bin
        WHEN COALESCE(m.next_attempt_at, m.not_before, TIMESTAMP '1970-01-01 00:00:00') <= UTC_TIMESTAMP(3) AND w.worker IS NOT NULL THEN _utf8mb4'processing' COLLATE utf8mb4_bin
        WHEN m.attempts > 0 THEN _utf8mb4'failed' COLLATE utf8mb4_bin
        ELSE _utf8mb4'pending' COLLATE utf8mb4_bin
    END AS status,
    m.destination,
    m.topic,
    m.lane,
    m.attempts,
    m.redrives,
    m.created_at,
    CASE
        WHEN m.deferred AND m.next_attempt_at = TIMESTAMP '9999-12-31 00:00:00' THEN NULL
        ELSE COALESCE(m.next_attempt_at, m.not_before)
    END AS next_attempt_at,
    m.last_attempt_at,
    m.last_error,
    CASE WHEN COALESCE(m.next_attempt_at, m.not_before, TIMESTAMP '1970-01-01 00:00:00') <= UTC_TIMESTAMP(3) THEN w.worker END AS locked_by,
    CASE WHEN COALESCE(m.next_attempt_at, m.not_before, TIMESTAMP '1970-01-01 00:00:00') <= UTC_TIMESTAMP(3) AND w.worker IS NOT NULL THEN s.taken_at END AS locked_at,
    CAST(NULL AS CHAR(40) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS dead_letter_reason,
    CAST(NULL AS DATETIME(3)) AS dead_lettered_at,
    CAST(NULL AS DATETIME(3)) AS sent_at,
    CAST(NULL AS DATETIME(3)) AS discarded_at,
    CAST(NULL AS DATETIME(3)) AS fanned_out_at,
    m.expires_at,
    m.content_type,
    m.headers,
    m.traceparent,
    m.payload,
    m.payload_binary,
    COALESCE(m.deferred AND m.next_attempt_at = TIMESTAMP '9999-12-31 00:00:00', 0) AS put_away,
    _utf8mb4'live' COLLATE utf8mb4_bin AS place,
    _utf8mb4'' COLLATE utf8mb4_bin AS fingerprint
FROM redeliver_outbox m
LEFT JOIN redeliver_shards s ON s.shard = m.shard
LEFT JOIN redeliver_workers w ON w.worker = s.owner AND w.lease_until > UTC_TIMESTAMP(3)
LEFT JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256));

CREATE OR REPLACE VIEW redeliver_messages_dead AS
SELECT
    CONVERT(LOWER(CONCAT(
        LPAD(HEX((m.number >> 28) & 4294967295), 8, '0'), '-', LPAD(HEX((m.number >> 12) & 65535), 4, '0'), '-8',
        LPAD(HEX(m.number & 4095), 3, '0'), '-', LPAD(HEX(32768 | ((m.salt >> 48) & 16383)), 4, '0'), '-',
        LPAD(HEX(m.salt & 281474976710655), 12, '0')
    )) USING utf8mb4) COLLATE utf8mb4_bin AS id,
    m.number,
    m.salt,
    m.shard,
    CASE WHEN m.discarded_at IS NULL THEN _utf8mb4'dead_lettered' COLLATE utf8mb4_bin ELSE _utf8mb4'discarded' COLLATE utf8mb4_bin END AS status,
    m.destination,
    m.topic,
    m.lane,
    m.attempts,
    m.redrives,
    m.created_at,
    CAST(NULL AS DATETIME(3)) AS next_attempt_at,
    m.last_attempt_at,
    m.last_error,
    CAST(NULL AS CHAR(200) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS locked_by,
    CAST(NULL AS DATETIME(3)) AS locked_at,
    m.reason AS dead_letter_reason,
    m.dead_lettered_at,
    CAST(NULL AS DATETIME(3)) AS sent_at,
    m.discarded_at,
    CAST(NULL AS DATETIME(3)) AS fanned_out_at,
    m.expires_at,
    m.content_type,
    m.headers,
    m.traceparent,
    m.payload,
    m.payload_binary,
    0 AS put_away,
    _utf8mb4'dead' COLLATE utf8mb4_bin AS place,
    m.fingerprint
FROM redeliver_dead m;

CREATE OR REPLACE VIEW redeliver_messages_sent AS
SELECT
    CONVERT(LOWER(CONCAT(
        LPAD(HEX((m.number >> 28) & 4294967295), 8, '0'), '-', LPAD(HEX((m.number >> 12) & 65535), 4, '0'), '-8',
        LPAD(HEX(m.number & 4095), 3, '0'), '-', LPAD(HEX(32768 | ((m.salt >> 48) & 16383)), 4, '0'), '-',
        LPAD(HEX(m.salt & 281474976710655), 12, '0')
    )) USING utf8mb4) COLLATE utf8mb4_bin AS id,
    m.number,
    m.salt,
    m.shard,
    _utf8mb4'sent' COLLATE utf8mb4_bin AS status,
    m.destination,
    m.topic,
    m.lane,
    m.attempts,
    m.redrives,
    m.created_at,
    CAST(NULL AS DATETIME(3)) AS next_attempt_at,
    m.sent_at AS last_attempt_at,
    m.last_error,
    CAST(NULL AS CHAR(200) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS locked_by,
    CAST(NULL AS DATETIME(3)) AS locked_at,
    CAST(NULL AS CHAR(40) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS dead_letter_reason,
    CAST(NULL AS DATETIME(3)) AS dead_lettered_at,
    m.sent_at,
    CAST(NULL AS DATETIME(3)) AS discarded_at,
    CAST(NULL AS DATETIME(3)) AS fanned_out_at,
    CAST(NULL AS DATETIME(3)) AS expires_at,
    m.content_type,
    m.headers,
    m.traceparent,
    m.payload,
    m.payload_binary,
    0 AS put_away,
    _utf8mb4'sent' COLLATE utf8mb4_bin AS place,
    _utf8mb4'' COLLATE utf8mb4_bin AS fingerprint
FROM redeliver_sent m;

CREATE OR REPLACE VIEW redeliver_messages_events AS
SELECT
    CONVERT(LOWER(CONCAT(
        LPAD(HEX((m.number >> 28) & 4294967295), 8, '0'), '-', LPAD(HEX((m.number >> 12) & 65535), 4, '0'), '-8',
        LPAD(HEX(m.number & 4095), 3, '0'), '-', LPAD(HEX(32768 | ((m.salt >> 48) & 16383)), 4, '0'), '-',
        LPAD(HEX(m.salt & 281474976710655), 12, '0')
    )) USING utf8mb4) COLLATE utf8mb4_bin AS id,
    m.number,
    m.salt,
    m.shard,
    _utf8mb4'fanned_out' COLLATE utf8mb4_bin AS status,
    _utf8mb4'' COLLATE utf8mb4_bin AS destination,
    m.topic,
    m.lane,
    0 AS attempts,
    0 AS redrives,
    m.created_at,
    CAST(NULL AS DATETIME(3)) AS next_attempt_at,
    CAST(NULL AS DATETIME(3)) AS last_attempt_at,
    CAST(NULL AS CHAR(1000) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS last_error,
    CAST(NULL AS CHAR(200) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS locked_by,
    CAST(NULL AS DATETIME(3)) AS locked_at,
    CAST(NULL AS CHAR(40) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS dead_letter_reason,
    CAST(NULL AS DATETIME(3)) AS dead_lettered_at,
    CAST(NULL AS DATETIME(3)) AS sent_at,
    CAST(NULL AS DATETIME(3)) AS discarded_at,
    m.fanned_out_at,
    CAST(NULL AS DATETIME(3)) AS expires_at,
    m.content_type,
    m.headers,
    m.traceparent,
    m.payload,
    m.payload_binary,
    0 AS put_away,
    _utf8mb4'event' COLLATE utf8mb4_bin AS place,
    _utf8mb4'' COLLATE utf8mb4_bin AS fingerprint
FROM redeliver_events m;

-- A number may be given twice, after a restore or a reset of AUTO_INCREMENT: a dead letter is known by its whole id, and none stands in
-- another's way.
ALTER TABLE redeliver_dead DROP PRIMARY KEY, ADD PRIMARY KEY (number, salt);

-- A shard that does not exist has no owner who would read its rows.
UPDATE redeliver_outbox SET shard = {shard_of_row} WHERE shard NOT BETWEEN 0 AND {shards} - 1;
ALTER TABLE redeliver_outbox ADD CONSTRAINT local_redeliver_outbox_shard CHECK (shard BETWEEN 0 AND {shards} - 1);

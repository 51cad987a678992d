-- Four views that the server merges into the query on them, so that a page of a long history costs a page; and the one of all.
CREATE OR REPLACE VIEW redeliver_messages_live AS
SELECT
    LOWER(CONCAT(
        LPAD(HEX((m.number >> 28) & 4294967295), 8, '0'), '-', LPAD(HEX((m.number >> 12) & 65535), 4, '0'), '-8',
        LPAD(HEX(m.number & 4095), 3, '0'), '-', LPAD(HEX(32768 | ((m.salt >> 48) & 16383)), 4, '0'), '-',
        LPAD(HEX(m.salt & 281474976710655), 12, '0')
    )) AS id,
    m.number,
    m.salt,
    m.shard,
    CASE
        WHEN l.head IS NOT NULL AND l.resumed_at IS NULL AND l.head <> m.number THEN 'parked'
        WHEN COALESCE(m.next_attempt_at, m.not_before, m.created_at) <= UTC_TIMESTAMP(3) AND w.worker IS NOT NULL THEN 'processing'
        WHEN m.attempts > 0 THEN 'failed'
        ELSE 'pending'
    END AS status,
    m.destination,
    m.topic,
    m.lane,
    m.attempts,
    m.redrives,
    m.created_at,
    NULLIF(COALESCE(m.next_attempt_at, m.not_before), TIMESTAMP '9999-12-31 00:00:00') AS next_attempt_at,
    m.last_attempt_at,
    m.last_error,
    CASE WHEN COALESCE(m.next_attempt_at, m.not_before, m.created_at) <= UTC_TIMESTAMP(3) THEN w.worker END AS locked_by,
    CASE WHEN COALESCE(m.next_attempt_at, m.not_before, m.created_at) <= UTC_TIMESTAMP(3) AND w.worker IS NOT NULL THEN s.taken_at END AS locked_at,
    CAST(NULL AS CHAR(40)) AS dead_letter_reason,
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
    COALESCE(m.next_attempt_at = TIMESTAMP '9999-12-31 00:00:00', 0) AS put_away
FROM redeliver_outbox m
LEFT JOIN redeliver_shards s ON s.shard = m.shard
LEFT JOIN redeliver_workers w ON w.worker = s.owner AND w.lease_until > UTC_TIMESTAMP(3)
LEFT JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256));

CREATE OR REPLACE VIEW redeliver_messages_dead AS
SELECT
    LOWER(CONCAT(
        LPAD(HEX((m.number >> 28) & 4294967295), 8, '0'), '-', LPAD(HEX((m.number >> 12) & 65535), 4, '0'), '-8',
        LPAD(HEX(m.number & 4095), 3, '0'), '-', LPAD(HEX(32768 | ((m.salt >> 48) & 16383)), 4, '0'), '-',
        LPAD(HEX(m.salt & 281474976710655), 12, '0')
    )) AS id,
    m.number,
    m.salt,
    m.shard,
    CASE WHEN m.discarded_at IS NULL THEN 'dead_lettered' ELSE 'discarded' END AS status,
    m.destination,
    m.topic,
    m.lane,
    m.attempts,
    m.redrives,
    m.created_at,
    CAST(NULL AS DATETIME(3)) AS next_attempt_at,
    m.last_attempt_at,
    m.last_error,
    CAST(NULL AS CHAR(200)) AS locked_by,
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
    0 AS put_away
FROM redeliver_dead m;

CREATE OR REPLACE VIEW redeliver_messages_sent AS
SELECT
    LOWER(CONCAT(
        LPAD(HEX((m.number >> 28) & 4294967295), 8, '0'), '-', LPAD(HEX((m.number >> 12) & 65535), 4, '0'), '-8',
        LPAD(HEX(m.number & 4095), 3, '0'), '-', LPAD(HEX(32768 | ((m.salt >> 48) & 16383)), 4, '0'), '-',
        LPAD(HEX(m.salt & 281474976710655), 12, '0')
    )) AS id,
    m.number,
    m.salt,
    m.shard,
    'sent' AS status,
    m.destination,
    m.topic,
    m.lane,
    m.attempts,
    m.redrives,
    m.created_at,
    CAST(NULL AS DATETIME(3)) AS next_attempt_at,
    m.sent_at AS last_attempt_at,
    m.last_error,
    CAST(NULL AS CHAR(200)) AS locked_by,
    CAST(NULL AS DATETIME(3)) AS locked_at,
    CAST(NULL AS CHAR(40)) AS dead_letter_reason,
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
    0 AS put_away
FROM redeliver_sent m;

CREATE OR REPLACE VIEW redeliver_messages_events AS
SELECT
    LOWER(CONCAT(
        LPAD(HEX((m.number >> 28) & 4294967295), 8, '0'), '-', LPAD(HEX((m.number >> 12) & 65535), 4, '0'), '-8',
        LPAD(HEX(m.number & 4095), 3, '0'), '-', LPAD(HEX(32768 | ((m.salt >> 48) & 16383)), 4, '0'), '-',
        LPAD(HEX(m.salt & 281474976710655), 12, '0')
    )) AS id,
    m.number,
    m.salt,
    m.shard,
    'fanned_out' AS status,
    '' AS destination,
    m.topic,
    m.lane,
    0 AS attempts,
    0 AS redrives,
    m.created_at,
    CAST(NULL AS DATETIME(3)) AS next_attempt_at,
    CAST(NULL AS DATETIME(3)) AS last_attempt_at,
    CAST(NULL AS CHAR(1000)) AS last_error,
    CAST(NULL AS CHAR(200)) AS locked_by,
    CAST(NULL AS DATETIME(3)) AS locked_at,
    CAST(NULL AS CHAR(40)) AS dead_letter_reason,
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
    0 AS put_away
FROM redeliver_events m;

CREATE OR REPLACE VIEW redeliver_messages AS
SELECT * FROM redeliver_messages_live
UNION ALL
SELECT * FROM redeliver_messages_dead
UNION ALL
SELECT * FROM redeliver_messages_sent
UNION ALL
SELECT * FROM redeliver_messages_events;

ALTER TABLE redeliver_dead DROP KEY local_redeliver_dead_issue, DROP COLUMN fingerprint;

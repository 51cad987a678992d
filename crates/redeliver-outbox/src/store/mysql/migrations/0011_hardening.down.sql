ALTER TABLE redeliver_outbox DROP CONSTRAINT local_redeliver_outbox_shard;

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
    COALESCE(m.next_attempt_at = TIMESTAMP '9999-12-31 00:00:00', 0) AS put_away,
    'live' AS place,
    '' AS fingerprint
FROM redeliver_outbox m
LEFT JOIN redeliver_shards s ON s.shard = m.shard
LEFT JOIN redeliver_workers w ON w.worker = s.owner AND w.lease_until > UTC_TIMESTAMP(3)
LEFT JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256));

ALTER TABLE redeliver_outbox DROP COLUMN deferred;

-- Of a number that was given twice, the newest dead letter stays.
DELETE d
FROM redeliver_dead d
JOIN redeliver_dead newer ON newer.number = d.number
    AND (newer.dead_lettered_at, newer.salt) > (d.dead_lettered_at, d.salt);
ALTER TABLE redeliver_dead DROP PRIMARY KEY, ADD PRIMARY KEY (number);

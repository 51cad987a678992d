-- Every statement may run again, as in the first step; a column that is there already is no error here.
-- Whether a message waits until its destination takes messages again. Its time alone does not say so: a sender may ask for any time.
ALTER TABLE redeliver_outbox ADD COLUMN deferred BOOLEAN NOT NULL DEFAULT false;
UPDATE redeliver_outbox SET deferred = true
WHERE next_attempt_at = TIMESTAMP '9999-12-31 00:00:00' AND NOT (not_before <=> next_attempt_at);

-- The same view again.
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
        WHEN COALESCE(m.next_attempt_at, m.not_before, TIMESTAMP '1970-01-01 00:00:00') <= UTC_TIMESTAMP(3) AND w.worker IS NOT NULL THEN 'processing'
        WHEN m.attempts > 0 THEN 'failed'
        ELSE 'pending'
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
    COALESCE(m.deferred AND m.next_attempt_at = TIMESTAMP '9999-12-31 00:00:00', 0) AS put_away,
    'live' AS place,
    '' AS fingerprint
FROM redeliver_outbox m
LEFT JOIN redeliver_shards s ON s.shard = m.shard
LEFT JOIN redeliver_workers w ON w.worker = s.owner AND w.lease_until > UTC_TIMESTAMP(3)
LEFT JOIN redeliver_lanes l ON l.shard = m.shard AND l.digest = UNHEX(SHA2(CONCAT(m.destination, CHAR(0), m.lane), 256));

-- A number may be given twice, after a restore or a reset of AUTO_INCREMENT: a dead letter is known by its whole id, and none stands in
-- another's way.
ALTER TABLE redeliver_dead DROP PRIMARY KEY, ADD PRIMARY KEY (number, salt);

-- A shard that does not exist has no owner who would read its rows.
UPDATE redeliver_outbox SET shard = {shard_of_row} WHERE shard NOT BETWEEN 0 AND {shards} - 1;
ALTER TABLE redeliver_outbox ADD CONSTRAINT local_redeliver_outbox_shard CHECK (shard BETWEEN 0 AND {shards} - 1);

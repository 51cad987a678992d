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

INSERT INTO redeliver_dead (number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, last_attempt_at, last_error, reason, gap, dead_lettered_at,
    fingerprint)
SELECT number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, ?, redrives, CASE WHEN ? > 0 THEN UTC_TIMESTAMP(3) END, ?, ?, false, UTC_TIMESTAMP(3),
    ?
FROM redeliver_outbox
WHERE number = ?

INSERT INTO redeliver_dead (
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, last_error, reason, dead_lettered_at, fingerprint)
SELECT
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, ?2, redrives, ?3, ?4, ?5, ?6
FROM redeliver_outbox
WHERE number = ?1

INSERT INTO redeliver_outbox (
    salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at, created_at,
    attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms, deferred)
SELECT
    salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at, created_at,
    attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms, deferred
FROM redeliver_outbox
WHERE number <= ?
ORDER BY number

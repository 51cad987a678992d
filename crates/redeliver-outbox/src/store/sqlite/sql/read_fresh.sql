SELECT
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms
FROM redeliver_outbox
WHERE shard = ?1 AND number > ?2 AND number <= ?4 AND next_attempt_at IS NULL
ORDER BY number
LIMIT ?3

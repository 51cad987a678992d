-- Rows whose numbers the sequence (?1) has not given.
SELECT
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms
FROM redeliver_outbox
WHERE number > ?1 AND +shard IN (SELECT value FROM json_each(?2)) AND next_attempt_at IS NULL
ORDER BY number
LIMIT ?3

SELECT
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms,
    CASE WHEN attempts > 0 THEN COALESCE((SELECT a.class = 'interrupted' FROM redeliver_attempts a
                                          WHERE a.number = redeliver_outbox.number AND a.redrive = redrives AND a.attempt = attempts), 0)
         ELSE 0 END
FROM redeliver_outbox
WHERE next_attempt_at <= ?1 AND +shard IN (SELECT value FROM json_each(?2))
ORDER BY next_attempt_at, number
LIMIT ?3

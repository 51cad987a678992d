SELECT
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms,
    CASE WHEN attempts > 0 THEN COALESCE((SELECT a.class = 'interrupted' FROM redeliver_attempts a
                                          WHERE a.number = redeliver_outbox.number AND a.redrive = redrives AND a.attempt = attempts), 0)
         ELSE 0 END
FROM redeliver_outbox
WHERE shard = ?1 AND number > ?2 AND number <= ?4 AND next_attempt_at IS NULL
ORDER BY number
LIMIT ?3

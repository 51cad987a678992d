number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at, created_at,
    attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms,
    IF(attempts > 0, COALESCE((SELECT a.class = 'interrupted' FROM redeliver_attempts a
                               WHERE a.number = redeliver_outbox.number AND a.redrive = redrives AND a.attempt = attempts), 0), 0) AS interrupted,
    lane_hash

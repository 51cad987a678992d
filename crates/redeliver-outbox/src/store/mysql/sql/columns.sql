number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent, not_before, expires_at, created_at,
    attempts, redrives, next_attempt_at, last_attempt_at, last_error, last_wait_ms, lane_hash

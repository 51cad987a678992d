SELECT number, salt, status, shard, destination, lane, attempts, redrives, created_at, next_attempt_at, last_attempt_at, last_error,
    locked_by, locked_at, dead_letter_reason, dead_lettered_at, sent_at, expires_at, content_type, headers, traceparent, {payload}
FROM {part}
WHERE {conditions}

-- The same number, salt and shard: it is the same message. An end of its time that has passed does not come with it.
INSERT INTO redeliver_outbox (number, salt, shard, destination, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error)
SELECT number, salt, shard, destination, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, CASE WHEN expires_at > UTC_TIMESTAMP(3) THEN expires_at END, created_at,
    0, redrives + 1, UTC_TIMESTAMP(3), last_attempt_at, last_error
FROM redeliver_dead
WHERE number IN ({numbers}) AND discarded_at IS NULL

INSERT INTO redeliver_sent (
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    created_at, attempts, redrives, last_error, sent_at, took_ms)
SELECT
    number, salt, shard, destination, topic, lane, CASE WHEN ?7 THEN payload END, CASE WHEN ?7 THEN payload_binary END,
    content_type, headers, traceparent, created_at, ?3, redrives, last_error, ?4, ?5
FROM redeliver_outbox
WHERE number = ?1 AND salt & 4611686018427387903 = ?8 AND shard = ?2 AND MIN(redrives, 2147483647) = ?6 AND MIN(attempts, 2147483647) IN (?3 - 1, ?3)
-- Of a number that was given twice, the history keeps the last message. Not OR REPLACE, which would remove another row where an operator
-- has a unique index.
ON CONFLICT (number) DO UPDATE
SET salt = excluded.salt, shard = excluded.shard, destination = excluded.destination, topic = excluded.topic, lane = excluded.lane,
    payload = excluded.payload, payload_binary = excluded.payload_binary, content_type = excluded.content_type,
    headers = excluded.headers, traceparent = excluded.traceparent, created_at = excluded.created_at, attempts = excluded.attempts,
    redrives = excluded.redrives, last_error = excluded.last_error, sent_at = excluded.sent_at, took_ms = excluded.took_ms

INSERT OR REPLACE INTO redeliver_sent (
    number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    created_at, attempts, redrives, last_error, sent_at, took_ms)
SELECT
    number, salt, shard, destination, topic, lane, CASE WHEN ?7 THEN payload END, CASE WHEN ?7 THEN payload_binary END,
    content_type, headers, traceparent, created_at, ?3, redrives, last_error, ?4, ?5
FROM redeliver_outbox
WHERE number = ?1 AND salt & 4611686018427387903 = ?8 AND shard = ?2 AND MIN(redrives, 2147483647) = ?6 AND MIN(attempts, 2147483647) IN (?3 - 1, ?3)

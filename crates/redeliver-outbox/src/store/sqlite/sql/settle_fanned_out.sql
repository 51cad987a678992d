INSERT OR REPLACE INTO redeliver_events (
    number, salt, shard, topic, lane, payload, payload_binary, content_type, headers, traceparent, created_at, fanned_out_at)
SELECT
    number, salt, shard, topic, lane, CASE WHEN ?2 THEN payload END, CASE WHEN ?2 THEN payload_binary END,
    content_type, headers, traceparent, created_at, ?3
FROM redeliver_outbox
WHERE number = ?1

INSERT INTO redeliver_events (
    number, salt, shard, topic, lane, payload, payload_binary, content_type, headers, traceparent, created_at, fanned_out_at)
SELECT
    number, salt, shard, topic, lane, CASE WHEN ?2 THEN payload END, CASE WHEN ?2 THEN payload_binary END,
    content_type, headers, traceparent, created_at, ?3
FROM redeliver_outbox
WHERE number = ?1
-- As in the history of messages.
ON CONFLICT (number) DO UPDATE
SET salt = excluded.salt, shard = excluded.shard, topic = excluded.topic, lane = excluded.lane, payload = excluded.payload,
    payload_binary = excluded.payload_binary, content_type = excluded.content_type, headers = excluded.headers,
    traceparent = excluded.traceparent, created_at = excluded.created_at, fanned_out_at = excluded.fanned_out_at

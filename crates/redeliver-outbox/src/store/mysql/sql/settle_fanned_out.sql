INSERT INTO redeliver_events (number, salt, shard, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    created_at, fanned_out_at)
SELECT o.number, o.salt, o.shard, o.topic, o.lane, IF(?, o.payload, NULL), IF(?, o.payload_binary, NULL), o.content_type, o.headers,
    o.traceparent, o.created_at, UTC_TIMESTAMP(3)
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number

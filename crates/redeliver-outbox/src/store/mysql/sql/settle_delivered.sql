INSERT INTO redeliver_sent (number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    created_at, attempts, redrives, last_error, sent_at, took_ms)
SELECT o.number, o.salt, o.shard, o.destination, o.topic, o.lane, IF(?, o.payload, NULL), IF(?, o.payload_binary, NULL), o.content_type, o.headers, o.traceparent,
    o.created_at, j.attempt, o.redrives, o.last_error, UTC_TIMESTAMP(3), j.took_ms
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', attempt INT PATH '$[1]', took_ms BIGINT PATH '$[2]')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number

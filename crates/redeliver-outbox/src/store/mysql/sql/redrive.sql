-- The same number, salt and shard: it is the same message. All of an act have one time, which keeps their order. An end of its time that has passed does not come with it.
INSERT INTO redeliver_outbox (number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, next_attempt_at, last_attempt_at, last_error)
SELECT m.number, m.salt, m.shard, m.destination, m.topic, m.lane, m.payload, m.payload_binary, m.content_type, m.headers, m.traceparent,
    m.not_before, CASE WHEN m.expires_at > UTC_TIMESTAMP(3) THEN m.expires_at END, m.created_at,
    0, m.redrives + 1, ?, m.last_attempt_at, m.last_error
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', salt BIGINT PATH '$[1]')) AS j
STRAIGHT_JOIN redeliver_dead m FORCE INDEX (PRIMARY) ON m.number = j.number AND m.salt & 4611686018427387903 = j.salt
WHERE m.discarded_at IS NULL

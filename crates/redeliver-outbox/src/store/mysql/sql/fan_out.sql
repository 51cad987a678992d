-- In the order of the array, which the numbers keep. Once an operator has put an event back, its age counts against no message of it
-- either: the redrives come along.
INSERT INTO redeliver_outbox (salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    expires_at, created_at, redrives)
SELECT j.salt, j.destination, o.topic, o.lane, o.payload, o.payload_binary, o.content_type, o.headers, o.traceparent,
    o.expires_at, o.created_at, o.redrives
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    position FOR ORDINALITY, event BIGINT PATH '$[0]', destination VARCHAR(200) CHARACTER SET utf8mb4 PATH '$[1]', salt BIGINT PATH '$[2]'
)) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.event
ORDER BY j.position

-- In the order of the array, which the numbers keep. Its age counts from now: it is sent today because an operator wants it to.
INSERT INTO redeliver_outbox (salt, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent)
SELECT j.salt, j.destination, m.topic, m.lane, m.payload, m.payload_binary, m.content_type, m.headers, m.traceparent
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    position FOR ORDINALITY, event BIGINT PATH '$[0]', destination VARCHAR(200) CHARACTER SET utf8mb4 PATH '$[1]', salt BIGINT PATH '$[2]'
)) AS j
STRAIGHT_JOIN redeliver_events m FORCE INDEX (PRIMARY) ON m.number = j.event
ORDER BY j.position

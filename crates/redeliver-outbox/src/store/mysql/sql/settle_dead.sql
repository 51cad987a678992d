INSERT INTO redeliver_dead (number, salt, shard, destination, topic, lane, payload, payload_binary, content_type, headers, traceparent,
    not_before, expires_at, created_at, attempts, redrives, last_attempt_at, last_error, reason, gap, dead_lettered_at,
    fingerprint)
-- MySQL takes surrogates in and refuses to copy them: such a key is kept as hexadecimal digits.
SELECT o.number, o.salt, o.shard, o.destination, o.topic,
    COALESCE(CONVERT(CAST(o.lane AS BINARY) USING utf8mb4), LEFT(HEX(o.lane), 1000)), o.payload, o.payload_binary, o.content_type, o.headers, o.traceparent,
    o.not_before, o.expires_at, o.created_at, COALESCE(j.attempt, o.attempts), o.redrives,
    CASE WHEN j.attempt IS NULL THEN o.last_attempt_at ELSE UTC_TIMESTAMP(3) END, j.error, j.reason, j.gap, UTC_TIMESTAMP(3),
    j.fingerprint
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    number BIGINT PATH '$[0]', attempt INT PATH '$[1]', reason VARCHAR(40) CHARACTER SET utf8mb4 PATH '$[2]',
    error TEXT CHARACTER SET utf8mb4 PATH '$[3]', gap INT PATH '$[4]',
    fingerprint VARCHAR(16) CHARACTER SET utf8mb4 PATH '$[5]'
)) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number

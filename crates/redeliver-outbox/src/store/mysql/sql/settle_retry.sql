-- A millisecond on top of a wait: the clock's reading may be up to that much behind, and nothing is early.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    number BIGINT PATH '$[0]', attempt INT PATH '$[1]', wait_ms BIGINT PATH '$[2]', error TEXT CHARACTER SET utf8mb4 PATH '$[3]'
)) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number
SET o.attempts = j.attempt,
    o.next_attempt_at = DATE_ADD(UTC_TIMESTAMP(3), INTERVAL (j.wait_ms + 1) * 1000 MICROSECOND),
    o.last_attempt_at = UTC_TIMESTAMP(3),
    o.last_error = j.error,
    o.last_wait_ms = j.wait_ms

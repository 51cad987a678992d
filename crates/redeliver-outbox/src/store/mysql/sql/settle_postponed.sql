-- A millisecond on top of a wait: the clock's reading may be up to that much behind, and nothing is early.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', until DATETIME(3) PATH '$[1]', wait_ms BIGINT PATH '$[2]',
    deferred INT PATH '$[3]')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number
SET o.next_attempt_at = COALESCE(j.until, DATE_ADD(UTC_TIMESTAMP(3), INTERVAL (j.wait_ms + 1) * 1000 MICROSECOND)),
    o.deferred = j.deferred

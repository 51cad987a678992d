UPDATE JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', attempt INT PATH '$[1]')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number
SET o.attempts = j.attempt, o.last_attempt_at = UTC_TIMESTAMP(3)

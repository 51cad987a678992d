UPDATE JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_dead m FORCE INDEX (PRIMARY) ON m.number = j.number
SET m.discarded_at = UTC_TIMESTAMP(3)
WHERE m.discarded_at IS NULL

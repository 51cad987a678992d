DELETE m
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_dead m FORCE INDEX (PRIMARY) ON m.number = j.number
WHERE m.discarded_at IS NOT NULL

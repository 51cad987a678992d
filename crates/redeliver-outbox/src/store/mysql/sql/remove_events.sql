DELETE m
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_events m FORCE INDEX (PRIMARY) ON m.number = j.number

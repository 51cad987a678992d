DELETE m
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_fan_out m FORCE INDEX (PRIMARY) ON m.event_number = j.number

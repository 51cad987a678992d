DELETE f
FROM JSON_TABLE(?, '$[*]' COLUMNS (event BIGINT PATH '$[0]', destination VARCHAR(200) CHARACTER SET utf8mb4 PATH '$[2]')) AS j
STRAIGHT_JOIN redeliver_fan_out f FORCE INDEX (PRIMARY) ON f.event_number = j.event AND f.destination = j.destination

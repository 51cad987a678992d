DELETE a
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', redrive INT PATH '$[1]', attempt INT PATH '$[2]')) AS j
STRAIGHT_JOIN redeliver_attempts a FORCE INDEX (PRIMARY) ON a.number = j.number AND a.redrive = j.redrive AND a.attempt = j.attempt
WHERE a.class = 'interrupted'

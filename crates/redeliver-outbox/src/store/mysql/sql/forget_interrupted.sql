DELETE a
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    number BIGINT PATH '$[0]', salt BIGINT PATH '$[1]', redrive INT PATH '$[2]', attempt INT PATH '$[3]'
)) AS j
STRAIGHT_JOIN redeliver_attempts a FORCE INDEX (PRIMARY)
    ON a.number = j.number AND a.salt = j.salt AND a.redrive = j.redrive AND a.attempt = j.attempt
WHERE a.class = 'interrupted'

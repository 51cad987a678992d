UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    number BIGINT PATH '$[0]', destination VARCHAR(200) CHARACTER SET utf8mb4 PATH '$[1]', fingerprint VARCHAR(16) CHARACTER SET utf8mb4 PATH '$[2]'
)) AS j
STRAIGHT_JOIN redeliver_dead m FORCE INDEX (PRIMARY) ON m.number = j.number
SET m.fingerprint = j.fingerprint
WHERE m.fingerprint = '' AND CAST(m.destination AS BINARY) = CAST(j.destination AS BINARY)

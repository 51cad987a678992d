REPLACE INTO redeliver_attempts (number, redrive, attempt, at, took_ms, class, error, worker)
SELECT j.number, j.redrive, j.attempt, UTC_TIMESTAMP(3), j.took_ms, j.class, j.error, ?
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    number BIGINT PATH '$[0]', redrive INT PATH '$[1]', attempt INT PATH '$[2]', took_ms BIGINT PATH '$[3]',
    class VARCHAR(40) CHARACTER SET utf8mb4 PATH '$[4]', error TEXT CHARACTER SET utf8mb4 PATH '$[5]'
)) AS j

INSERT INTO redeliver_attempts (number, salt, redrive, attempt, at, took_ms, class, error, worker)
SELECT j.number, j.salt, j.redrive, j.attempt, UTC_TIMESTAMP(3), j.took_ms, j.class, j.error, ?
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    number BIGINT PATH '$[0]', salt BIGINT PATH '$[1]', redrive INT PATH '$[2]', attempt INT PATH '$[3]', took_ms BIGINT PATH '$[4]',
    class VARCHAR(40) CHARACTER SET utf8mb4 PATH '$[5]', error TEXT CHARACTER SET utf8mb4 PATH '$[6]'
)) AS j
-- How an attempt ended is known for good; that it began is not news then.
ON DUPLICATE KEY UPDATE
    at = IF(VALUES(class) = 'interrupted', redeliver_attempts.at, VALUES(at)),
    took_ms = IF(VALUES(class) = 'interrupted', redeliver_attempts.took_ms, VALUES(took_ms)),
    error = IF(VALUES(class) = 'interrupted', redeliver_attempts.error, VALUES(error)),
    worker = IF(VALUES(class) = 'interrupted', redeliver_attempts.worker, VALUES(worker)),
    class = IF(VALUES(class) = 'interrupted', redeliver_attempts.class, VALUES(class))

-- Attempts of messages that are gone. Another message of the same number keeps its own.
DELETE a
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_attempts a FORCE INDEX (PRIMARY) ON a.number = j.number
LEFT JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = a.number AND o.salt = a.salt
LEFT JOIN redeliver_dead d FORCE INDEX (PRIMARY) ON d.number = a.number AND d.salt = a.salt
LEFT JOIN redeliver_sent s FORCE INDEX (PRIMARY) ON s.number = a.number AND s.salt = a.salt
WHERE o.number IS NULL AND d.number IS NULL AND s.number IS NULL

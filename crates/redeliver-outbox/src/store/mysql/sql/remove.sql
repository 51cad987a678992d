-- Number by number, as in lock.sql; no other form of DELETE holds to an index.
DELETE o
FROM JSON_TABLE(JSON_ARRAY({numbers}), '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number

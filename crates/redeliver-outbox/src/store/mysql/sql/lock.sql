-- By the primary key, whatever the optimizer thinks of a small table: a scan would wait for every row that another transaction holds.
SELECT o.number, o.salt, o.shard, o.attempts, o.redrives, o.destination = ''
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number
FOR UPDATE /*!80001 OF o */

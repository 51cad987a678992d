-- As they are now: in the outbox, or, given up, still among the dead letters.
INSERT INTO redeliver_job_messages (job, number, salt, shard, redrives, outcome)
SELECT ?, o.number, o.salt, o.shard, o.redrives, NULL
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number
UNION ALL
SELECT ?, d.number, d.salt, d.shard, d.redrives, 'delivered'
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$')) AS k
STRAIGHT_JOIN redeliver_dead d FORCE INDEX (PRIMARY) ON d.number = k.number

-- As they are now: in the outbox, or, given up, still among the dead letters.
INSERT INTO redeliver_job_messages (job, number, salt, shard, redrives, outcome)
SELECT ?, o.number, o.salt, o.shard, o.redrives, NULL
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', salt BIGINT PATH '$[1]')) AS j
STRAIGHT_JOIN redeliver_outbox o FORCE INDEX (PRIMARY) ON o.number = j.number AND o.salt & 4611686018427387903 = j.salt
UNION ALL
SELECT ?, d.number, d.salt, d.shard, d.redrives, 'delivered'
FROM JSON_TABLE(?, '$[*]' COLUMNS (number BIGINT PATH '$[0]', salt BIGINT PATH '$[1]')) AS k
STRAIGHT_JOIN redeliver_dead d FORCE INDEX (PRIMARY) ON d.number = k.number AND d.salt & 4611686018427387903 = k.salt

-- As they are now: in the outbox, or, given up, still among the dead letters.
INSERT INTO redeliver_job_messages (job, number, salt, shard, redrives, outcome)
SELECT $1, o.number, o.salt, o.shard, o.redrives, NULL
  FROM unnest($2::smallint[], $3::bigint[]) AS out (shard, number)
  JOIN redeliver_outbox o ON o.shard = out.shard AND o.number = out.number
UNION ALL
SELECT $1, d.number, d.salt, d.shard, d.redrives, 'delivered'
  FROM redeliver_dead d
 WHERE d.number = ANY ($3::bigint[])

-- As they are now: in the outbox, or, given up, still among the dead letters.
INSERT INTO redeliver_job_messages (job, number, salt, shard, redrives, outcome)
SELECT $1, o.number, o.salt, o.shard, o.redrives, NULL
  FROM unnest($2::smallint[], $3::bigint[]) AS out (shard, number)
  JOIN redeliver_outbox o ON o.shard = out.shard AND o.number = out.number
UNION ALL
SELECT given_up.*
  FROM (SELECT DISTINCT ON (d.number) $1, d.number, d.salt, d.shard, d.redrives, 'delivered'
          FROM unnest($3::bigint[], $4::bigint[]) AS letter (number, salt)
          JOIN redeliver_dead d ON d.number = letter.number AND d.salt & 4611686018427387903 = letter.salt
         ORDER BY d.number, d.salt) AS given_up

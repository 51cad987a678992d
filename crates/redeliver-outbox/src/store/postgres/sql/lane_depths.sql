-- By a range of numbers, not by a number of rows: rows of one shard lie far apart, and those of all shards side by side.
WITH beginning AS MATERIALIZED (
    SELECT min(first.number) AS number
      FROM unnest($4::smallint[]) AS of (shard)
     CROSS JOIN LATERAL (SELECT number FROM redeliver_outbox WHERE shard = of.shard AND number >= $5 ORDER BY number LIMIT 1) AS first
),
counted AS MATERIALIZED (
    SELECT o.shard, o.destination, o.lane, count(*) AS messages
      FROM beginning
     CROSS JOIN unnest($4::smallint[]) AS of (shard)
      JOIN redeliver_outbox o ON o.shard = of.shard AND o.number >= beginning.number AND o.number < beginning.number + $6
     WHERE o.lane IS NOT NULL
     GROUP BY o.shard, o.destination, o.lane
)
SELECT listed.shard, listed.destination, listed.lane, COALESCE(counted.messages, 0),
       EXISTS (SELECT FROM redeliver_outbox o WHERE o.shard = listed.shard AND o.number >= beginning.number + $6)
  FROM unnest($1::smallint[], $2::text[], $3::text[]) AS listed (shard, destination, lane)
 CROSS JOIN beginning
  LEFT JOIN counted ON counted.shard = listed.shard AND counted.destination = listed.destination AND counted.lane = listed.lane

WITH seen AS MATERIALIZED (
    SELECT o.*
      FROM unnest($4::smallint[], $5::bigint[]) AS beginning (shard, number)
     CROSS JOIN LATERAL (SELECT shard, destination, lane
                           FROM redeliver_outbox
                          WHERE shard = beginning.shard AND number >= beginning.number
                          ORDER BY number
                          LIMIT $6) AS o
),
counted AS MATERIALIZED (
    SELECT shard, destination, lane, count(*) AS messages FROM seen WHERE lane IS NOT NULL GROUP BY shard, destination, lane
),
looked AS MATERIALIZED (
    SELECT shard, count(*) AS messages FROM seen GROUP BY shard
)
SELECT listed.shard, listed.destination, listed.lane, COALESCE(counted.messages, 0), COALESCE(looked.messages, 0)
  FROM unnest($1::smallint[], $2::text[], $3::text[]) AS listed (shard, destination, lane)
  LEFT JOIN counted ON counted.shard = listed.shard AND counted.destination = listed.destination AND counted.lane = listed.lane
  LEFT JOIN looked ON looked.shard = listed.shard

SELECT {columns}
  FROM unnest($1::smallint[], $2::bigint[]) AS late (shard, number)
 CROSS JOIN LATERAL (SELECT {large} FROM redeliver_outbox o WHERE o.shard = late.shard AND o.number = late.number LIMIT 1) AS o
 ORDER BY o.shard, o.number

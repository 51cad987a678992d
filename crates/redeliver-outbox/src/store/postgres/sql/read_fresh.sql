SELECT {columns}
  FROM unnest($1::smallint[], $2::bigint[]) AS owned (shard, cursor)
 CROSS JOIN LATERAL (SELECT {large} FROM redeliver_outbox o
                      WHERE o.shard = owned.shard AND o.number > owned.cursor AND o.number <= $5 AND o.next_attempt_at IS NULL
                      ORDER BY o.number LIMIT $3) AS o
 LIMIT $4

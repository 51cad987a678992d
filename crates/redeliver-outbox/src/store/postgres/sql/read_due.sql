SELECT {columns}
  FROM unnest($1::smallint[]) AS owned (shard)
 CROSS JOIN LATERAL (SELECT {large} FROM redeliver_outbox o
                      WHERE o.shard = owned.shard AND o.next_attempt_at <= now()
                      ORDER BY o.next_attempt_at, o.number LIMIT $2) AS o
 ORDER BY o.next_attempt_at, o.number
 LIMIT $2

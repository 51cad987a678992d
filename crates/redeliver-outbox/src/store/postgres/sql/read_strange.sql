-- Rows whose numbers the sequence ($2) has not given.
SELECT {columns}
  FROM unnest($1::smallint[]) AS owned (shard)
 CROSS JOIN LATERAL (SELECT {large} FROM redeliver_outbox o
                      WHERE o.shard = owned.shard AND o.number > $2 AND o.next_attempt_at IS NULL
                      ORDER BY o.number LIMIT $3) AS o
 ORDER BY o.number
 LIMIT $3

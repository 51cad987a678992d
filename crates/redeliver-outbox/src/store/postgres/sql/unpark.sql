UPDATE redeliver_outbox o
   SET next_attempt_at = statement_timestamp(), deferred = false
  FROM (SELECT m.number, m.shard
          FROM unnest($1::smallint[]) AS owned (shard)
         CROSS JOIN LATERAL (SELECT number, shard FROM redeliver_outbox o
                              WHERE o.shard = owned.shard AND o.next_attempt_at = $2 AND o.deferred AND o.destination = $3
                              ORDER BY o.number LIMIT $4) AS m
         ORDER BY m.number
         LIMIT $4) AS away
 WHERE o.shard = away.shard AND o.number = away.number AND o.next_attempt_at = $2

SELECT {columns}
  FROM (SELECT {large}
          FROM redeliver_outbox o
         WHERE o.shard = $1 AND o.number >= $2 AND o.number <= $3 AND o.next_attempt_at IS NULL AND o.destination = $4
           AND o.lane IS NOT DISTINCT FROM $5
         ORDER BY o.shard, o.number
         LIMIT $6) AS o

SELECT o.shard, o.number, o.destination, o.lane
  FROM unnest($1::smallint[]) AS taken (shard)
  JOIN redeliver_outbox o ON o.shard = taken.shard AND o.next_attempt_at IS NOT NULL
 WHERE o.lane IS NOT NULL
 ORDER BY o.shard, o.number

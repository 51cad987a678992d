SELECT taken.shard, COALESCE((SELECT max(o.number) FROM redeliver_outbox o WHERE o.shard = taken.shard), 0)
  FROM unnest($1::smallint[]) AS taken (shard)

SELECT o.number, left(o.destination, 1000)
  FROM unnest($1::smallint[], $2::bigint[]) AS named (shard, number)
  JOIN redeliver_outbox o ON o.shard = named.shard AND o.number = named.number

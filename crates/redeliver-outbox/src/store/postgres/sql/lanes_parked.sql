SELECT parked.shard, parked.destination, parked.lane, parked.head, COALESCE(dead.salt, live.salt, 0), dead.reason, parked.parked_at
  FROM redeliver_lanes AS parked
  LEFT JOIN redeliver_dead AS dead ON dead.number = parked.head
  LEFT JOIN redeliver_outbox AS live ON live.shard = parked.shard AND live.number = parked.head
 WHERE parked.resumed_at IS NULL
 ORDER BY parked.parked_at, parked.head
 LIMIT $1

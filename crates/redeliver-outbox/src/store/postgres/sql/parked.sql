SELECT shard, destination, lane, head
  FROM redeliver_lanes
 WHERE shard = ANY ($1::smallint[]) AND resumed_at IS NULL
 ORDER BY shard, head

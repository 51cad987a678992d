SELECT shard, destination, lane, resumed_at
  FROM redeliver_lanes
 WHERE shard = ANY ($1::smallint[]) AND resumed_at IS NOT NULL
 ORDER BY shard, destination, lane

SELECT shard, destination, lane, resumed_at FROM redeliver_lanes WHERE shard IN ({shards}) AND resumed_at IS NOT NULL

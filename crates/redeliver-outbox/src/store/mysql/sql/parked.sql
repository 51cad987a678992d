SELECT shard, head, destination, lane FROM redeliver_lanes WHERE shard IN ({shards}) AND resumed_at IS NULL

SELECT shard, epoch FROM redeliver_shards WHERE owner = ? ORDER BY shard

SELECT shard, epoch FROM redeliver_shards WHERE owner = ?1 ORDER BY shard

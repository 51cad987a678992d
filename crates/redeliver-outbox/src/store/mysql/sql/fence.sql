SELECT shard, epoch FROM redeliver_shards WHERE shard IN ({shards}) AND owner = ? ORDER BY shard LOCK IN SHARE MODE

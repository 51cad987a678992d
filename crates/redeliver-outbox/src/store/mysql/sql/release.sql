UPDATE redeliver_shards SET owner = NULL, clean = ? WHERE shard = ? AND owner = ? AND epoch = ?

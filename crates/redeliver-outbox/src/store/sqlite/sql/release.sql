UPDATE redeliver_shards SET owner = NULL, clean = ?4 WHERE shard = ?1 AND owner = ?2 AND epoch = ?3

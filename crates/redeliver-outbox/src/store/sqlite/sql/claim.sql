UPDATE redeliver_shards SET owner = ?2, epoch = ?3, clean = 0, held = ?4, taken_at = ?5 WHERE shard = ?1

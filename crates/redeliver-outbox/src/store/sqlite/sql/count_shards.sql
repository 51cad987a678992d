SELECT COUNT(*) FROM redeliver_shards

UPDATE redeliver_shards
SET owner = ?, epoch = epoch + 1, clean = false, held = ?, taken_at = UTC_TIMESTAMP(3)
WHERE shard IN ({shards})

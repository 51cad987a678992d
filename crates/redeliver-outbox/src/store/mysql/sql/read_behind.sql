(SELECT number, salt, shard, redrives, destination, topic, lane
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE shard = ? AND next_attempt_at IS NULL AND number > ? AND number <= ?
ORDER BY number
LIMIT ?)

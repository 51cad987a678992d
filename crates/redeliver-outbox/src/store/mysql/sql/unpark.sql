UPDATE redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
SET next_attempt_at = UTC_TIMESTAMP(3), deferred = 0
WHERE shard IN ({shards}) AND next_attempt_at = ? AND deferred AND destination = ?
ORDER BY number
LIMIT ?

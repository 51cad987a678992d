SELECT shard, number, destination, lane
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE shard IN ({shards}) AND next_attempt_at IS NOT NULL AND lane IS NOT NULL
ORDER BY shard, number

SELECT number
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE shard = ? AND number > ? AND number <= ? AND lane_hash IN ({lanes}) AND next_attempt_at IS NULL

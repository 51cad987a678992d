SELECT GREATEST(
    COALESCE((SELECT MAX(number) FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
        WHERE shard = ? AND next_attempt_at IS NULL), 0),
    COALESCE((SELECT MAX(number) FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
        WHERE shard = ? AND next_attempt_at IS NOT NULL), 0))

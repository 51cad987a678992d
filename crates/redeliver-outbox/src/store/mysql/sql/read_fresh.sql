SELECT {columns}
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE shard = ? AND next_attempt_at IS NULL AND number > ? AND number <= 1152921504606846975
ORDER BY number
LIMIT ?

SELECT {columns}
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE shard = ? AND next_attempt_at <= UTC_TIMESTAMP(3) AND number BETWEEN 1 AND 1152921504606846975
ORDER BY next_attempt_at, number
LIMIT ?

SELECT {columns}
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE shard = ? AND next_attempt_at IS NULL AND number >= ? AND number <= ?
  AND lane IS NULL AND CAST(destination AS BINARY) = CAST(? AS BINARY)
ORDER BY number
LIMIT ?

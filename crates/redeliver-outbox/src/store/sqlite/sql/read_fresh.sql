SELECT
    {columns}
FROM redeliver_outbox INDEXED BY local_redeliver_outbox_fresh
WHERE shard = ?1 AND number > ?2 AND number <= ?4 AND next_attempt_at IS NULL
ORDER BY number
LIMIT ?3

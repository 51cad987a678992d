SELECT
    {columns}
FROM redeliver_outbox
WHERE shard = ?1 AND number > ?2 AND number <= ?4 AND next_attempt_at IS NULL
ORDER BY number
LIMIT ?3

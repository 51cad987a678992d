SELECT
    {columns}
FROM redeliver_outbox INDEXED BY local_redeliver_outbox_fresh
WHERE shard = ?1 AND destination = ?2 AND lane IS ?3 AND number BETWEEN ?4 AND ?5 AND next_attempt_at IS NULL
ORDER BY number
LIMIT ?6

-- As a lane is read, of any lane: the one that is asked for is no UTF-8 in the table, and is known by what it was read as.
SELECT
    {columns}
FROM redeliver_outbox INDEXED BY local_redeliver_outbox_fresh
WHERE shard = ?1 AND destination = ?2 AND lane IS NOT NULL AND number BETWEEN ?3 AND ?4 AND next_attempt_at IS NULL
ORDER BY number

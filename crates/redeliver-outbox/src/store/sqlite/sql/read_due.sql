SELECT
    {columns}
FROM redeliver_outbox
WHERE next_attempt_at <= ?1 AND +shard IN (SELECT value FROM json_each(?2))
ORDER BY next_attempt_at, number
LIMIT ?3

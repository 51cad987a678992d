-- Rows whose numbers the sequence (?1) has not given.
SELECT
    {columns}
FROM redeliver_outbox
WHERE number > ?1 AND +shard IN (SELECT value FROM json_each(?2)) AND next_attempt_at IS NULL
ORDER BY number
LIMIT ?3

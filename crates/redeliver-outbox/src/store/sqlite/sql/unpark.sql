UPDATE redeliver_outbox
SET next_attempt_at = ?1, deferred = 0
WHERE number IN (
    SELECT number FROM redeliver_outbox
    WHERE next_attempt_at = ?2 AND deferred AND destination = ?3 AND +shard IN (SELECT value FROM json_each(?4))
    ORDER BY number
    LIMIT ?5)

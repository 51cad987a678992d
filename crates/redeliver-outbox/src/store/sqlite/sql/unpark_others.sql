UPDATE redeliver_outbox
SET next_attempt_at = ?1
WHERE number IN (
    SELECT number FROM redeliver_outbox
    WHERE next_attempt_at = ?2
        AND destination NOT IN (SELECT value FROM json_each(?3))
        AND +shard IN (SELECT value FROM json_each(?4))
    LIMIT ?5)

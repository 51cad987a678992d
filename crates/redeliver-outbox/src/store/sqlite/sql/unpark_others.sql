-- What is not deferred and has not asked for this time was put away by a relay of an earlier version.
UPDATE redeliver_outbox
SET next_attempt_at = ?1, deferred = 0
WHERE number IN (
    SELECT number FROM redeliver_outbox
    WHERE next_attempt_at = ?2
        AND CASE WHEN deferred THEN destination NOT IN (SELECT value FROM json_each(?3)) ELSE not_before IS NOT next_attempt_at END
        AND +shard IN (SELECT value FROM json_each(?4))
    LIMIT ?5)

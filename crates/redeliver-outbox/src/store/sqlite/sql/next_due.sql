SELECT MIN(next_attempt_at)
FROM redeliver_outbox
WHERE next_attempt_at > ?1 AND +shard IN (SELECT value FROM json_each(?2))

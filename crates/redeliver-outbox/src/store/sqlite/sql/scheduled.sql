SELECT number, destination, lane
FROM redeliver_outbox
WHERE next_attempt_at IS NOT NULL AND lane IS NOT NULL AND shard = ?1
ORDER BY number

SELECT shard, destination, lane, number, salt, next_attempt_at, deferred
FROM redeliver_outbox INDEXED BY local_redeliver_outbox_scheduled
WHERE destination = ?1 AND lane = ?2 AND lane IS NOT NULL AND next_attempt_at IS NOT NULL
ORDER BY number
LIMIT 2

SELECT number, destination, lane
FROM redeliver_outbox INDEXED BY local_redeliver_outbox_due
WHERE next_attempt_at IS NOT NULL AND lane IS NOT NULL AND +shard = ?1
ORDER BY number

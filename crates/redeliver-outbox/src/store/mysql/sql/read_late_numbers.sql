-- Answered by the index alone: of most rows the number is known already.
SELECT shard, number
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE next_attempt_at IS NULL AND ({ranges})

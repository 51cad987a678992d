SELECT CASE WHEN next_attempt_at < 253402214400000 THEN (next_attempt_at - ?1) / 900000 - (next_attempt_at <= ?1) END AS bucket, COUNT(*)
FROM redeliver_outbox
WHERE next_attempt_at IS NOT NULL
GROUP BY bucket

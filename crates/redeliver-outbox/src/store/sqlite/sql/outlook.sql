SELECT CASE
        WHEN deferred AND next_attempt_at = 253402214400000 THEN NULL
        WHEN next_attempt_at <= ?1 THEN -1
        ELSE (next_attempt_at - ?1) / 900000
    END AS bucket, COUNT(*)
FROM redeliver_outbox
WHERE next_attempt_at IS NOT NULL
GROUP BY bucket

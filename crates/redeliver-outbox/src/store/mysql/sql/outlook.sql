SELECT CASE
        WHEN deferred AND next_attempt_at = TIMESTAMP '9999-12-31 00:00:00' THEN NULL
        WHEN next_attempt_at <= UTC_TIMESTAMP(3) THEN -1
        ELSE TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(3), next_attempt_at) DIV 900
    END AS bucket, COUNT(*)
FROM redeliver_outbox FORCE INDEX (local_redeliver_outbox_due)
WHERE shard IN ({shards}) AND next_attempt_at > TIMESTAMP '1000-01-01 00:00:00'
GROUP BY bucket

-- A key is kept for as long as its message can be sent again: while it is live, or a dead letter that nobody discarded.
DELETE FROM redeliver_deduplication
WHERE created_at < DATE_SUB(UTC_TIMESTAMP(3), INTERVAL ? * 1000 MICROSECOND)
    AND NOT EXISTS (SELECT 1 FROM redeliver_outbox o WHERE o.number = redeliver_deduplication.number)
    AND NOT EXISTS (
        SELECT 1 FROM redeliver_dead l WHERE l.number = redeliver_deduplication.number AND l.discarded_at IS NULL)
ORDER BY created_at LIMIT ?

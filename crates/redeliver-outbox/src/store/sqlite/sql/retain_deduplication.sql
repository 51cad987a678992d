-- By the order of the inserts, which is that of the times: there is no index by time. A key is kept for as long as its message can be
-- sent again: while it is live, or a dead letter that nobody discarded.
DELETE FROM redeliver_deduplication
WHERE rowid IN (
    SELECT d.rowid
    FROM redeliver_deduplication d
    WHERE d.rowid < coalesce(
            (SELECT rowid FROM redeliver_deduplication WHERE created_at >= ?1 ORDER BY rowid LIMIT 1), 9223372036854775807)
        AND d.created_at < ?1
        AND NOT EXISTS (SELECT 1 FROM redeliver_outbox o WHERE o.number = d.number)
        AND NOT EXISTS (SELECT 1 FROM redeliver_dead l WHERE l.number = d.number AND l.discarded_at IS NULL)
    ORDER BY d.rowid
    LIMIT ?2)

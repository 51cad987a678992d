-- By the order of the inserts, which is that of the times: there is no index by time.
DELETE FROM redeliver_deduplication
WHERE rowid IN (
    SELECT rowid
    FROM (SELECT rowid, created_at FROM redeliver_deduplication ORDER BY rowid LIMIT ?2 * 10)
    WHERE created_at < ?1
    LIMIT ?2)

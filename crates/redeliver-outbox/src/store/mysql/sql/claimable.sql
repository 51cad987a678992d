-- Only the shards' rows are locked: a subquery without a lock of its own takes none.
SELECT shard, epoch, clean, held
FROM redeliver_shards
WHERE owner IS NULL OR owner IN ({gone})
    -- One that is unknown may have begun after this transaction did: its first beat is not to be seen yet, and what it took is.
    OR (owner NOT IN (SELECT worker FROM redeliver_workers) AND (taken_at IS NULL OR taken_at < (
        SELECT TIMESTAMPADD(MICROSECOND, TIMESTAMPDIFF(MICROSECOND, own.lease_until, own.seen_at), UTC_TIMESTAMP(3))
        FROM redeliver_workers own WHERE own.worker = ?)))
ORDER BY shard
LIMIT ?
FOR UPDATE SKIP LOCKED

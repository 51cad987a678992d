-- Only the shards' rows are locked: a subquery without a lock of its own takes none.
SELECT shard, epoch, clean, held
FROM redeliver_shards
WHERE owner IS NULL OR owner IN ({gone}) OR owner NOT IN (SELECT worker FROM redeliver_workers)
ORDER BY shard
LIMIT ?
FOR UPDATE SKIP LOCKED

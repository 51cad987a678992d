DELETE FROM redeliver_workers
WHERE worker IN (
    SELECT worker FROM redeliver_workers AS silent
    WHERE lease_until < ?1 AND NOT EXISTS (SELECT 1 FROM redeliver_shards AS shard WHERE shard.owner = silent.worker)
    LIMIT ?2)

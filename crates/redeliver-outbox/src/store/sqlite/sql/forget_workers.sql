DELETE FROM redeliver_workers
WHERE lease_until < ?1
AND NOT EXISTS (SELECT 1 FROM redeliver_shards AS shard WHERE shard.owner = redeliver_workers.worker)

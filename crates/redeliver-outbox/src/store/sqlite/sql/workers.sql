SELECT worker, started_at, seen_at, lease_until >= ?1, in_flight,
    (SELECT COUNT(*) FROM redeliver_shards AS shard WHERE shard.owner = redeliver_workers.worker), figures
FROM redeliver_workers
ORDER BY started_at, worker

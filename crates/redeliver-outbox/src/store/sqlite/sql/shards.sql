SELECT COUNT(*), COUNT(*) - COUNT(owner.worker)
FROM redeliver_shards AS shard
LEFT JOIN redeliver_workers AS owner ON owner.worker = shard.owner AND owner.lease_until >= ?1

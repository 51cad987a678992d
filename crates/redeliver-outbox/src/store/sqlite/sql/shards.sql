SELECT ?1, COUNT(*), COUNT(*) - COUNT(owner.worker), (SELECT COUNT(*) FROM redeliver_workers WHERE lease_until >= ?1)
FROM redeliver_shards AS shard
LEFT JOIN redeliver_workers AS owner ON owner.worker = shard.owner AND owner.lease_until >= ?1

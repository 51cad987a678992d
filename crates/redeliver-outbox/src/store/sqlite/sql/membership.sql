SELECT
    (SELECT COUNT(*) FROM redeliver_workers WHERE lease_until >= ?2),
    (SELECT COUNT(*) FROM redeliver_shards),
    (SELECT COUNT(*)
     FROM redeliver_shards AS shard
     LEFT JOIN redeliver_workers AS owner ON owner.worker = shard.owner AND owner.lease_until >= ?2
     WHERE owner.worker IS NULL),
    (SELECT MIN(lease_until) FROM redeliver_workers WHERE lease_until >= ?2 AND worker <> ?1)

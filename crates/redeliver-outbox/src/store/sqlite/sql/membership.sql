SELECT
    (SELECT COUNT(*) FROM redeliver_workers WHERE lease_until >= ?2),
    (SELECT COUNT(*) FROM redeliver_shards),
    (SELECT COUNT(*)
     FROM redeliver_shards AS shard
     LEFT JOIN redeliver_workers AS owner ON owner.worker = shard.owner AND owner.lease_until >= ?2
     WHERE owner.worker IS NULL
         AND (shard.owner IS NULL OR shard.taken_at IS NULL
             OR EXISTS (SELECT 1 FROM redeliver_workers AS silent WHERE silent.worker = shard.owner)
             OR shard.taken_at < (SELECT ?2 - (own.lease_until - own.seen_at) FROM redeliver_workers AS own WHERE own.worker = ?1))),
    (SELECT MIN(lease_until) FROM redeliver_workers WHERE lease_until >= ?2 AND worker <> ?1)

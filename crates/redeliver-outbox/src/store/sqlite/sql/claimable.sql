SELECT shard.shard, shard.epoch, shard.clean, shard.held,
    (SELECT COALESCE(MAX(number), 0) FROM redeliver_outbox AS message WHERE message.shard = shard.shard)
FROM redeliver_shards AS shard
LEFT JOIN redeliver_workers AS owner ON owner.worker = shard.owner AND owner.lease_until >= ?2
WHERE owner.worker IS NULL AND shard.owner IS NOT ?1
    -- One that is unknown is gone after a lease.
    AND (shard.owner IS NULL OR shard.taken_at IS NULL
        OR EXISTS (SELECT 1 FROM redeliver_workers AS silent WHERE silent.worker = shard.owner)
        OR shard.taken_at < (SELECT ?2 - (own.lease_until - own.seen_at) FROM redeliver_workers AS own WHERE own.worker = ?1))
ORDER BY shard.shard
LIMIT ?3

SELECT shard.shard, shard.epoch, shard.clean, shard.held,
    (SELECT COALESCE(MAX(number), 0) FROM redeliver_outbox AS message WHERE message.shard = shard.shard)
FROM redeliver_shards AS shard
LEFT JOIN redeliver_workers AS owner ON owner.worker = shard.owner AND owner.lease_until >= ?2
WHERE owner.worker IS NULL AND shard.owner IS NOT ?1
ORDER BY shard.shard
LIMIT ?3

-- The lock is what fences: a takeover that has begun is waited for and then seen, and none can begin before this transaction ends.
SELECT shard, epoch FROM redeliver_shards WHERE shard = ANY ($1::smallint[]) AND owner = $2 ORDER BY shard FOR SHARE

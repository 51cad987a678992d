-- A shard that a settle of its last owner holds FOR SHARE is passed over, and taken at the next claim.
WITH free AS MATERIALIZED (
    SELECT s.shard, s.clean, s.held
      FROM redeliver_shards s
     WHERE s.owner IS DISTINCT FROM $1
       AND NOT EXISTS (SELECT FROM redeliver_workers w WHERE w.worker = s.owner AND w.lease_until > clock_timestamp())
     ORDER BY s.shard
     LIMIT $2
       FOR UPDATE OF s SKIP LOCKED
)
UPDATE redeliver_shards s
   SET owner = $1, epoch = s.epoch + 1, clean = false, held = $3, taken_at = clock_timestamp()
  FROM free
 WHERE s.shard = free.shard
RETURNING s.shard, s.epoch, free.clean, free.held

WITH given AS MATERIALIZED (
    SELECT s.shard
      FROM redeliver_shards s
      JOIN unnest($2::smallint[], $3::bigint[]) AS lease (shard, epoch) ON s.shard = lease.shard AND s.epoch = lease.epoch
     WHERE s.owner = $1
     ORDER BY s.shard
       FOR UPDATE OF s
)
UPDATE redeliver_shards s SET owner = NULL, clean = $4 FROM given WHERE s.shard = given.shard

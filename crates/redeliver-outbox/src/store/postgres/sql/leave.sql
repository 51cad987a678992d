-- Shards that were not given back are free at once: of a worker that is unknown they would be after a lease.
WITH gone AS (
    DELETE FROM redeliver_workers WHERE worker = $1
),
left_behind AS MATERIALIZED (
    SELECT shard FROM redeliver_shards WHERE owner = $1 ORDER BY shard FOR UPDATE
)
UPDATE redeliver_shards s SET taken_at = NULL FROM left_behind WHERE s.shard = left_behind.shard

SELECT shard, destination, lane, head, resumed_at
FROM redeliver_lanes
WHERE resumed_at IS NOT NULL AND shard IN (SELECT value FROM json_each(?1))
ORDER BY resumed_at

-- Lanes that an operator has parked, and those that one has let go on, with the dead letter that they go on without.
SELECT shard, destination, lane, COALESCE(NULLIF(head, 0), dead_head, 0), resumed_at
FROM redeliver_lanes
WHERE (resumed_at IS NOT NULL OR head = 0) AND shard IN (SELECT value FROM json_each(?1))
ORDER BY shard, destination, lane
